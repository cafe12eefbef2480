"""Networks on top of each other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from orla import catalogue
from orla.architectures.base import Architecture, LinearGates, Parameters
from orla.catalogue import option
from orla.errors import OrlaError, prefix_errors

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Stack(Architecture, name="stack", label="stack {layers}", order=50):
    """Networks on top of each other, as torch.nn.RNN with num_layers, of any kinds.

    h^k_t = step_k(h^k_{t-1}, h^{k-1}_t) for layers k = 0, 1, ... from the bottom, which has x_t in
    place of h^{-1}_t. h^k are the first numbers of a layer's state, its units; the readout sees
    those of the top layer. With the previous state held fixed, as in immediate learning,
    derivatives pass down through the layers of a step and never back in time.

    The state is (top layer's state, ..., bottom layer's). Layer k's parameters have its number
    behind their name, W_hh.0 for the bottom layer's W_hh.
    """

    layers: tuple[Any, ...] = option(
        text="Networks, the bottom one first: names, or mappings of a kind and its options. One "
        "that gives no hidden units has those of the stack; the top one has no others.",
        parts="architecture",
        least=1,
    )

    def __post_init__(self) -> None:
        layers: list[Architecture] = []
        for place, spec in enumerate(self.layers):
            with prefix_errors(f"stack: layers[{place}]"):
                layers.append(self._make_layer(spec, layers[-1].hidden if layers else self.n_in))
        if layers[-1].hidden != self.hidden:
            raise OrlaError(
                f"stack: the top layer has {layers[-1].hidden} hidden units and the stack, whose"
                f' readout sees them, {self.hidden}; set the stack\'s "hidden" to that of the layer'
            )
        object.__setattr__(self, "layers", tuple(layers))

    def _make_layer(self, spec: str | Mapping[str, Any] | Architecture, n_in: int) -> Architecture:
        """A layer from its specification; OrlaError where its readout is not linear."""
        if isinstance(spec, Architecture):
            layer = replace(spec, n_in=n_in, n_out=self.n_out)
        else:
            part, options = catalogue.specification(self.kind, spec)
            options = {"kind": part.part.name, "hidden": self.hidden} | options
            layer = catalogue.make(self.kind, options, n_in=n_in, n_out=self.n_out)
        if type(layer).readout is not Architecture.readout:
            raise OrlaError(
                f"{type(layer).__name__} has a readout of its own, so the first numbers of its"
                " state are not what it would hand on; stack networks with a linear readout"
            )
        return layer

    @property
    def state_size(self) -> int:
        return sum(layer.state_size for layer in self.layers)

    @property
    def linear_gates(self) -> bool:
        """Whether every layer is a `LinearGates`; the stack then has structured derivatives."""
        return all(isinstance(layer, LinearGates) for layer in self.layers)

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        return join_layer_mappings(layer.recurrent_shapes() for layer in self.layers)

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """Fresh parameters: each layer's as it draws them, the readout that of the top layer."""
        recurrent = []
        for layer in self.layers:
            layer_params = layer.init(generator, dtype)
            recurrent.append({name: layer_params.pop(name) for name in layer.recurrent_shapes()})
        return join_layer_mappings(recurrent) | layer_params

    def initial_state(self, params: Parameters) -> Tensor:
        """The layers' initial states (state_size,)."""
        readout = {name: p for name, p in params.items() if name not in self.recurrent_shapes()}
        every = zip(self.layers, self.by_layer(params), strict=True)
        return self.stack_state([layer.initial_state(own | readout) for layer, own in every])

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        states = []
        every = zip(self.layers, self.by_layer(params), self.layer_states(state), strict=True)
        for layer, layer_params, layer_state in every:
            states.append(layer.step(layer_params, layer_state, x))
            x = states[-1][: layer.hidden]
        return self.stack_state(states)

    def by_layer(self, mapping: Mapping[str, T]) -> list[dict[str, T]]:
        """A mapping a layer, by the layer's names (W_hh for W_hh.0); other names are left out."""
        mappings: list[dict[str, T]] = [{} for _ in self.layers]
        for name, value in mapping.items():
            local_name, _, place = name.rpartition(".")
            if local_name:
                mappings[int(place)][local_name] = value
        return mappings

    def layer_states(self, state: Tensor) -> tuple[Tensor, ...]:
        """The layers' states, the bottom one first, of a state (..., state_size)."""
        return state.split([layer.state_size for layer in self.layers[::-1]], -1)[::-1]

    def stack_state(self, states: Sequence[Tensor]) -> Tensor:
        """The state of which these are the layers' (..., layer's state_size), bottom one first."""
        return torch.cat(states[::-1], -1)


def join_layer_mappings(layers: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """The layers' mappings, the bottom one first, by the names in the stack: W_hh.0 for W_hh."""
    return {
        f"{name}.{place}": value
        for place, mapping in enumerate(layers)
        for name, value in mapping.items()
    }
