"""Derivatives of networks on top of each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.architectures.stack import Stack, in_stack
from orla.derivatives.base import Derivatives, Local, Moment, Tape
from orla.derivatives.structured import StructuredDerivatives, transposed


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
    def _layers(self) -> tuple[StructuredDerivatives, ...]:
        """Of each layer, the bottom one first."""
        return tuple(StructuredDerivatives(layer) for layer in self.architecture.layers)

    @property
    def _moved(self) -> tuple[int, ...]:
        """How many numbers of the state each layer's parameters move: the first so many."""
        sizes = [layer.state_size for layer in self.architecture.layers]
        return tuple(sum(sizes[place:]) for place in range(len(sizes)))

    def _tapes(self, tape: Tape) -> list[Tape]:
        bottom, *others = self.architecture.by_layer(tape)
        return [bottom | {"x": tape["x"]}, *others]

    def _each(self, *named: Parameters) -> Iterator[tuple[StructuredDerivatives, ...]]:
        """Each layer, with its own of every mapping."""
        return zip(self._layers, *map(self.architecture.by_layer, named), strict=True)

    def step(self, params: Parameters, state: Tensor, moment: Moment) -> tuple[Tensor, Tape]:
        after, tapes, x = [], [], moment["x"]
        before = self.architecture.parted(state)
        for (layer, own), h in zip(self._each(params), before, strict=True):
            new, tape = layer.step(own, h, {"x": x})
            after.append(new)
            tapes.append(tape)
            x = new[:, : layer.architecture.hidden]
        joined = in_stack(tapes)
        joined["x"] = joined.pop("x.0")
        return self.architecture.joined(after), joined

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        before, locals_, above = [], [], None
        own, tapes = self.architecture.by_layer(params), self.architecture.by_layer(tape)
        parts = self.architecture.parted(cotangent)
        for place in reversed(range(len(self._layers))):
            layer, on_state = self._layers[place], parts[place]
            if above is not None:
                on_state = on_state + layer.on_state(above)
            on_before, local = layer.pull_step(own[place], tapes[place], on_state)
            before.insert(0, on_before)
            locals_.insert(0, local)
            if place:
                above = transposed(own[place]["W_ih"], local["gates"])
        return self.architecture.joined(before), in_stack(locals_)

    def pulled(self, tape: Tape) -> Tape:
        return {name: t for name, t in tape.items() if name == "keep" or name.startswith("cache.")}

    def gather(self, tapes: Tape, locals_: Local) -> Parameters:
        every = zip(self._each(locals_), self._tapes(tapes), strict=True)
        return in_stack(layer.gather(tape, own) for (layer, own), tape in every)

    def gathered_square(self, tapes: Tape, locals_: Local) -> Tensor:
        every = zip(self._each(locals_), self._tapes(tapes), strict=True)
        return sum(layer.gathered_square(tape, own) for (layer, own), tape in every)

    def history(self) -> tuple[str, ...]:
        places = range(len(self._layers))
        return tuple(f"W_hh.{k}" for k in places) + tuple(f"W_ih.{k}" for k in places[1:])

    def sensitivity(self, params: Parameters) -> Parameters:
        found: Parameters = {}
        for name, terms in self.no_terms(params).items():
            moved = self._moved[len(found)]
            found[name] = terms.new_zeros(len(terms), moved, *terms.shape[1:])
        return found

    def no_terms(self, params: Parameters) -> Parameters:
        return in_stack(layer.no_terms(own) for layer, own in self._each(params))

    def with_terms(self, terms: Parameters, tapes: Tape, locals_: Local) -> Parameters:
        every = zip(self._each(terms, locals_), self._tapes(tapes), strict=True)
        return in_stack(layer.with_terms(own, tape, local) for (layer, own, local), tape in every)

    def with_sensitivity(self, P: Parameters, on_start: Tensor, terms: Parameters) -> Parameters:
        every = zip(self._each(P, terms), self._moved, strict=True)
        return in_stack(
            layer.with_sensitivity(own, on_start[:, :moved], term)
            for (layer, own, term), moved in every
        )

    def rebuild(self, P: Parameters, rows: Tensor, tapes: Tape, locals_: Local) -> None:
        every = zip(self._each(P, locals_), self._tapes(tapes), self._moved, strict=True)
        for (layer, own, local), tape, moved in every:
            gates = local["gates"][:, :, :moved]
            layer.rebuild(own, rows[:, :moved, :moved], tape, {"gates": gates})
