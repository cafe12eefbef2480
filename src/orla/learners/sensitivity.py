"""Learners that carry a sensitivity from step to step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.derivatives.base import axis_of_models
from orla.derivatives.influence import DenseWords, Influence, OwnUnitWords, Words, own_units
from orla.learners.base import Carry, Learner, Step
from orla.programs.scan import in_layout_of, materialize


@dataclass(frozen=True)
class SensitivityLearner(Learner):
    """One update a step; the gradient is (dL/dh_t) e_t, with e_t from `advance`.

    A learner may put another signal in the place of dL/dh_t: `signal`.

    dense: True: e holds the derivative of every number of the state by every parameter. False:
        where the units of a network are independent, only that of a unit by its own parameters.
    """

    dense: ClassVar[bool] = False

    @abstractmethod
    def advance(self, words: Words, influence: Influence) -> Influence:
        """e_t from e_{t-1}, by the operations of `derivatives.influence.Words`."""

    def signal(self, carry: Carry, step: Step) -> Tensor:
        """What e_t is contracted with (models, state_size): dL/dh_t."""
        return step["cotangent"]

    def apply_mask(self, influence: Influence, carry: Carry) -> Influence:
        """The entries of e_t that are contracted and carried on; here all."""
        return influence

    @property
    def _words(self) -> type[Words]:
        return OwnUnitWords if own_units(self.architecture) and not self.dense else DenseWords

    def init(self, params: Parameters) -> Carry:
        def zeros(params: Parameters) -> Influence:
            state = self.architecture.initial_state(params)
            x = state.new_zeros(self.architecture.n_in)
            return self._words(self.architecture, params, state, x, {}).zeros()

        influence = vmap(zeros)(params)
        return {"influence": {name: _rows_innermost(e) for name, e in influence.items()}}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        arguments = params, step["before"], step["moment"]["x"], step["tape"]
        axes = 0, 0, axis_of_models(step["moment"]), 0

        def advance(influence: Influence, *arguments: Any) -> Influence:
            words = self._words(self.architecture, *arguments)
            if "keep" in words.tape:  # nothing is carried over the start of a trial
                influence = {name: words.tape["keep"] * e for name, e in influence.items()}
            return self.apply_mask(self.advance(words, influence), carry)

        def contract(influence: Influence, signal: Tensor, *arguments: Any) -> Parameters:
            return self._words(self.architecture, *arguments).contract(signal, influence)

        before = carry["influence"]
        after = vmap(advance, in_dims=(0, *axes))(before, *arguments)
        after = {name: in_layout_of(e, before[name]) for name, e in after.items()}
        signal = materialize(self.signal(carry, step))
        gradient = vmap(contract, in_dims=(0, 0, *axes))(after, signal, *arguments)
        return {"influence": after}, gradient


def _rows_innermost(e: Tensor) -> Tensor:
    """`e`, of a matrix with the axis of rows innermost in memory, as the parameters have it."""
    if e.dim() < 4:
        return e.clone()
    return e.transpose(-1, -2).contiguous().transpose(-1, -2)
