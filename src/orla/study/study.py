"""One condition, ready to run: networks, episode, learner and all that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.engine.forward import outputs_of
from orla.engine.loop import Loop, Moments
from orla.losses.base import Loss
from orla.programs import compiling
from orla.study import scores
from orla.study.batches import chosen, in_batches, moments
from orla.tasks.episode import Episode
from orla.tasks.stream import Stream

# Least models of a batch of frozen networks that runs by a compiled program.
FORWARD_MODELS = 5
# Mean error (models,), and the loss's further scores (models,) by column.
Scores = tuple[np.ndarray, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Study:
    """One condition.

    Attributes:
        keys: its key columns (`study.keys.KEYS`).
        networks: starting parameters, (seeds, ...) each; their precision is the study's.
        episode: the data of the models.
        loop: with the episode's loss and segments of its windows; its compiled programs serve all
            batches.
        batch_models: models that are computed together; changes the last digits only.
        device: of the computation.
        shared: `baseline` of another condition with the same episode and at least these networks,
            so that it is computed once.
    """

    keys: Mapping[str, str]
    networks: Parameters
    episode: Episode
    loop: Loop
    batch_models: int = 5
    device: torch.device | str = "cpu"
    shared: Mapping[str, np.ndarray] | None = None

    @property
    def loss(self) -> Loss:
        """The episode's loss."""
        return self.loop.loss

    @property
    def seeds(self) -> int:
        """Number of networks."""
        return len(next(iter(self.networks.values())))

    @property
    def steps(self) -> int:
        """Steps of the adapt part."""
        return len(self.episode.adapt)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of networks and arithmetic."""
        return next(iter(self.networks.values())).dtype

    def tensor(self, array: np.ndarray) -> Tensor:
        """Values in the study's precision, on its device."""
        return torch.as_tensor(array, dtype=self.dtype, device=self.device)

    def batch(self, seed: np.ndarray) -> Parameters:
        """The starting parameters of these seeds."""
        params = chosen(self.networks, torch.as_tensor(seed))
        return {name: p.to(self.device) for name, p in params.items()}

    def whole(self, seed: np.ndarray) -> Moments:
        """The adapt part and the held-out part as one stream, for the models of these seeds."""
        return moments(self._whole, seed, self.dtype, self.device)

    @cached_property
    def _whole(self) -> Stream:
        return self.episode.whole

    @cached_property
    def baseline(self) -> dict[str, np.ndarray]:
        """Errors of the networks that do not adapt: (seeds,) each, and by window.

        "frozen_heldout_error", "frozen_adapt_error", "frozen_validation_error",
        "reference_error" (NaN without a reference) and "constant_error", of the best constant
        outputs on the held-out part; "frozen_trace" (seeds, windows).
        """
        if self.shared is not None:
            return {name: values[: self.seeds] for name, values in self.shared.items()}
        heldout = self.episode.heldout
        constant = scores.constant_errors(self.loss, heldout, self.episode.n_out)
        stream = np.arange(self.seeds) if heldout.own else np.zeros(self.seeds, dtype=int)
        frozen = in_batches(self.seeds, self.batch_models, self._frozen)
        return frozen | {"constant_error": constant[stream]}

    def _frozen(self, seed: np.ndarray) -> dict[str, np.ndarray]:
        episode, params = self.episode, self.batch(seed)
        stream = self.whole(seed)
        outputs = self.outputs(params, None, stream)
        adapt = {name: m[: self.steps] for name, m in stream.items()}
        each = scores.errors(self.loss, outputs[:, : self.steps], adapt)
        parts = {
            "heldout": slice(self.steps, None),
            "adapt": slice(0, self.steps),
            "validation": slice(episode.selection_cut, self.steps),
        }
        errors = {
            f"frozen_{name}_error": scores.mean_error(self.loss, outputs, stream, part)
            for name, part in parts.items()
        }
        scored = scores.by_models(adapt, "scored")
        return errors | {
            "reference_error": self._reference(params, seed),
            "frozen_trace": scores.window_means(each, scored, episode.window),
        }

    def outputs(self, params: Parameters, state: Tensor | None, stream: Moments) -> Tensor:
        """Outputs (models, steps, n_out) of frozen networks; with None from the initial state.

        Smaller batches are filled up with copies, so that one compiled program serves all.
        """
        models = len(next(iter(params.values())))
        if compiling.enabled() and models < FORWARD_MODELS:
            index = torch.arange(FORWARD_MODELS, device=self.device).clamp(max=models - 1)
            params, state = chosen(params, index), None if state is None else state[index]
            if stream["x"].dim() == 3:
                stream = {n: stream[n][:, index] for n in ("x", "starts") if n in stream}
        return outputs_of(self.loop.learner.architecture, params, state, stream)[:models]

    def _reference(self, params: Parameters, seed: np.ndarray) -> np.ndarray:
        episode = self.episode
        if episode.reference is None:
            return np.full(len(seed), np.nan)
        stream = moments(episode.reference, seed, self.dtype, self.device)
        outputs = self.outputs(params, None, stream)
        return scores.mean_error(self.loss, outputs, stream, slice(episode.reference_from, None))

    def frozen_scores(
        self, params: Parameters, state: Tensor, whole: Moments, part: slice, since: int
    ) -> Scores:
        """Error and the loss's scores on `part` of `whole`, weights frozen at step `since`.

        Args:
            params, state: Of a batch of models, at that step.
            whole: The batch's stream, from `whole`.
            part: Steps of it that are scored, not before `since`.
            since: Step from which the networks run on.
        """
        stream = {name: m[since : part.stop] for name, m in whole.items()}
        outputs = self.outputs(params, state, stream)
        scored = slice(part.start - since, None)
        error = scores.mean_error(self.loss, outputs, stream, scored)
        return error, scores.further(self.loss, outputs, stream, scored)

    @property
    def heldout(self) -> slice:
        """The held-out part of `whole`."""
        return slice(self.steps, len(self._whole))
