"""Derivatives of networks on top of each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.architectures.stack import Stack, join_layer_mappings
from orla.derivatives.base import Derivatives, Local, StreamStep, Tape
from orla.derivatives.structured import StructuredDerivatives, transpose_product


@dataclass(frozen=True)
class StackedDerivatives(Derivatives):
    """Of a stack whose layers all have `StructuredDerivatives`.

    Within a step a cotangent passes down from layer to layer through W_ih; each layer pulls its own
    back in time. Local terms, tapes and terms are those of the layers, with the layer's number
    behind the name; the bottom layer's "x" is the stack's.

    A layer's parameters move the state of that layer and of those above. Sensitivities are
    {"P.k": (models, state of layers k and above, gates, n_in + hidden + 1)} of layer k.
    """

    architecture: Stack
    outer_products: ClassVar[bool] = True

    @property
    def _layer_derivatives(self) -> tuple[StructuredDerivatives, ...]:
        return tuple(StructuredDerivatives(layer) for layer in self.architecture.layers)

    @property
    def _influenced_sizes(self) -> tuple[int, ...]:
        """Numbers of the state that each layer's parameters move, the first ones."""
        sizes = [layer.state_size for layer in self.architecture.layers]
        return tuple(sum(sizes[place:]) for place in range(len(sizes)))

    def _layers_with_entries(
        self, *mappings: Parameters
    ) -> Iterator[tuple[StructuredDerivatives, ...]]:
        """Each layer, the bottom one first, with its entries of every mapping."""
        by_mapping = [self.architecture.by_layer(mapping) for mapping in mappings]
        for layers, mapping in zip(by_mapping, mappings, strict=True):
            layers[0] |= {"x": mapping["x"]} if "x" in mapping else {}  # of a tape
        return zip(self._layer_derivatives, *by_mapping, strict=True)

    def step(self, params: Parameters, state: Tensor, step: StreamStep) -> tuple[Tensor, Tape]:
        next_states, tapes, x = [], [], step["x"]
        states = self.architecture.layer_states(state)
        for (layer, layer_params), h in zip(self._layers_with_entries(params), states, strict=True):
            new, tape = layer.step(layer_params, h, {"x": x})
            next_states.append(new)
            tapes.append(tape)
            x = new[:, : layer.architecture.hidden]
        stack_tape = join_layer_mappings(tapes)
        stack_tape["x"] = stack_tape.pop("x.0")
        return self.architecture.stack_state(next_states), stack_tape

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        a, above, pulled = self.architecture, None, []
        layers = self._layer_derivatives, a.by_layer(params), a.by_layer(tape)
        for layer, layer_params, layer_tape, state_cotangent in reversed(
            [*zip(*layers, a.layer_states(cotangent), strict=True)]
        ):
            if above is not None:
                state_cotangent = state_cotangent + layer.pad_cotangent(above)
            pulled.insert(0, layer.pull_step(layer_params, layer_tape, state_cotangent))
            if len(pulled) < len(a.layers):
                above = transpose_product(layer_params["W_ih"], pulled[0][1]["gates"])
        state_cotangents, locals_ = zip(*pulled, strict=True)
        return a.stack_state(state_cotangents), join_layer_mappings(locals_)

    def tape_for_pull(self, tape: Tape) -> Tape:
        return {name: t for name, t in tape.items() if name == "keep" or name.startswith("cache.")}

    def summed_gradient(self, tapes: Tape, locals_: Local) -> Parameters:
        return join_layer_mappings(
            layer.summed_gradient(tape, local)
            for layer, tape, local in self._layers_with_entries(tapes, locals_)
        )

    def one_step_gradient_square(self, tapes: Tape, locals_: Local) -> Tensor:
        every = self._layers_with_entries(tapes, locals_)
        return sum(layer.one_step_gradient_square(tape, local) for layer, tape, local in every)

    def params_for_pull(self) -> tuple[str, ...]:
        places = range(len(self._layer_derivatives))
        return tuple(f"W_hh.{k}" for k in places) + tuple(f"W_ih.{k}" for k in places[1:])

    def zero_sensitivity(self, params: Parameters) -> Parameters:
        terms = self.zero_gradient_terms(params).items()
        return {
            name: t.new_zeros(len(t), size, *t.shape[1:])
            for (name, t), size in zip(terms, self._influenced_sizes, strict=True)
        }

    def zero_gradient_terms(self, params: Parameters) -> Parameters:
        return join_layer_mappings(
            layer.zero_gradient_terms(layer_params)
            for layer, layer_params in self._layers_with_entries(params)
        )

    def accumulate_gradient_terms(
        self, terms: Parameters, tapes: Tape, locals_: Local
    ) -> Parameters:
        return join_layer_mappings(
            layer.accumulate_gradient_terms(layer_terms, tape, local)
            for layer, layer_terms, tape, local in self._layers_with_entries(terms, tapes, locals_)
        )

    def gradient_within_block(
        self, sensitivity: Parameters, start_cotangent: Tensor, terms: Parameters
    ) -> Parameters:
        every = self._layers_with_entries(sensitivity, terms)
        return join_layer_mappings(
            layer.gradient_within_block(P, start_cotangent[:, :size], layer_terms)
            for (layer, P, layer_terms), size in zip(every, self._influenced_sizes, strict=True)
        )

    def advance_sensitivity_over_block(
        self, sensitivity: Parameters, block_jacobian: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        every = self._layers_with_entries(sensitivity, tapes, locals_)
        for (layer, P, tape, local), size in zip(every, self._influenced_sizes, strict=True):
            local = {"gates": local["gates"][:, :, :size]}
            layer.advance_sensitivity_over_block(P, block_jacobian[:, :size, :size], tape, local)


@dataclass(frozen=True)
class DecayedStack(StackedDerivatives):
    """A stack whose J_t is `decay` times the identity; D_t is as it is."""

    decay: float = 0.0

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        _, local = super().pull_step(params, tape, cotangent)
        return self.decay * cotangent, local
