"""A decoder for use outside of a study: bins of spikes in, targets in their own units out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.engine.network import network_of
from orla.errors import OrlaError
from orla.provenance import networks
from orla.sessions.input_transform import InputTransform

_ARRAYS = ("columns", "weights", "offset")


class Decoder:
    """A network with frozen weights, as the evaluator of FALCON sees one.

    The interface is that of `falcon_challenge.interface.BCIDecoder` (Karpowicz et al. 2024), which
    is no base class here, so that nothing of it has to be installed.

    Args:
        specification: what the decoder is, apart from arrays: `network` (kind and options),
            `n_out`, `transform`, `channels` (names of the recording's columns, in the order of
            observations), `categories` (of the outputs, or None for values), `resets` (whether a
            trial begins from the initial state) and `bin_s` (seconds a step).
        params, reading: of the network; how bins become its inputs.
        mean, sd: of the target, (n_out,); outputs times `sd` plus `mean` are in its unit.
        batch_size: sessions that are decoded side by side, each with a state of its own.
    """

    def __init__(
        self,
        specification: Mapping[str, Any],
        params: Parameters,
        reading: InputTransform,
        mean: np.ndarray,
        sd: np.ndarray,
        batch_size: int = 1,
    ) -> None:
        self.specification, self.params, self.reading = dict(specification), params, reading
        self.mean, self.sd = mean, sd
        n_in, n_out = reading.weights.shape[1], specification["n_out"]
        self.network = network_of(specification["network"], n_in, n_out)
        self._dtype = next(iter(params.values())).dtype
        self._initial = self.network.initial_state(params)
        self._step = vmap(self._step_one, in_dims=(None, 0, 0))
        self.set_batch_size(batch_size)

    @property
    def categories(self) -> list[int] | None:
        """The category of each output; None where outputs are values."""
        return self.specification["categories"]

    def set_batch_size(self, batch_size: int) -> None:
        """Decode so many sessions side by side, from the initial state."""
        self.batch_size = batch_size
        self.reset()

    def reset(self, dataset_tags: Sequence[str] = ("",)) -> None:
        """Set all sessions to the initial state; tags are ignored: weights are of one data set."""
        self._state = self._initial.expand(self.batch_size, -1).clone()

    def predict(self, neural_observations: np.ndarray) -> np.ndarray:
        """One step: outputs (batch_size, n_out) of bins (batch_size, channels).

        Values are in the target's unit; of categories they are log-odds up to a constant.
        """
        bins = np.asarray(neural_observations, dtype=np.float64)
        shape = self.batch_size, len(self.reading.channels)
        if bins.shape != shape:
            raise OrlaError(
                f"decoder: observations are {bins.shape}, not {shape}; give a row a session and "
                "a column a channel of the recording, see Decoder.reading.channels"
            )
        x = torch.as_tensor(self.reading(bins), dtype=self._dtype)
        with torch.no_grad():
            self._state, outputs = self._step(self.params, self._state, x)
        return outputs.double().numpy() * self.sd + self.mean

    def observe(self, neural_observations: np.ndarray) -> None:
        """One step whose outputs nobody asks for; the state goes on."""
        self.predict(neural_observations)

    def on_done(self, dones: np.ndarray) -> None:
        """Trials that have ended: the next one begins anew where the study's trials do."""
        if self.specification["resets"]:
            is_done = torch.as_tensor(np.asarray(dones, dtype=bool))
            self._state = torch.where(is_done[:, None], self._initial, self._state)

    def _step_one(self, params: Parameters, state: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The next state of one network, and its outputs."""
        next_state = self.network.step(params, state, x)
        return next_state, self.network.readout(params, next_state)

    def save(self, path: str | Path, provenance: Mapping[str, Any]) -> None:
        """Write the decoder, and what it was made from, to a .safetensors file."""
        arrays = {name: getattr(self.reading, name) for name in _ARRAYS}
        arrays |= {"mean": self.mean, "sd": self.sd}
        tensors = {f"params.{name}": value for name, value in self.params.items()}
        tensors |= {name: torch.as_tensor(value) for name, value in arrays.items()}
        networks.save(tensors, path, {**provenance, "decoder": self.specification})

    @classmethod
    def load(cls, path: str | Path, batch_size: int = 1) -> Self:
        """Read what `save` wrote; a network from a plug-in needs `catalogue.use_plugins` first."""
        specification = networks.read_provenance(path).get("decoder")
        if specification is None:
            raise OrlaError(
                f"{path}: no decoder, but networks of a study; write one: orla decoder FILE "
                "CONDITION"
            )
        tensors = networks.load(path)
        params = {n.partition(".")[2]: p for n, p in tensors.items() if n.startswith("params.")}
        arrays = {name: tensors[name].numpy() for name in (*_ARRAYS, "mean", "sd")}
        transform, channels = specification["transform"], specification["channels"]
        reading = InputTransform(transform, channels, *(arrays[name] for name in _ARRAYS))
        return cls(specification, params, reading, arrays["mean"], arrays["sd"], batch_size)
