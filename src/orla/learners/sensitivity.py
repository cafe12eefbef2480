"""Learners that carry a sensitivity from step to step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.derivatives.base import Tape, axis_of_models
from orla.derivatives.influence import DenseWords, Influence, OwnUnitWords, Words, own_units
from orla.learners.base import Carry, Learner, Step


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

    @property
    def _words(self) -> type[Words]:
        return OwnUnitWords if own_units(self.architecture) and not self.dense else DenseWords

    def init(self, params: Parameters) -> Carry:
        def zeros(params: Parameters) -> Influence:
            state = self.architecture.initial_state(params)
            x = state.new_zeros(self.architecture.n_in)
            return self._words(self.architecture, params, state, x, {}).zeros()

        return {"influence": pytree.tree_map(lambda e: e.clone(), vmap(zeros)(params))}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        def one(
            params: Parameters,
            state: Tensor,
            x: Tensor,
            tape: Tape,
            cotangent: Tensor,
            influence: Influence,
        ) -> tuple[Influence, Parameters]:
            words = self._words(self.architecture, params, state, x, tape)
            if "keep" in tape:  # nothing is carried over the start of a trial
                influence = {name: tape["keep"] * e for name, e in influence.items()}
            influence = self.advance(words, influence)
            return influence, words.contract(cotangent, influence)

        axes = (0, 0, axis_of_models(step["moment"]), 0, 0, 0)
        influence, gradient = vmap(one, in_dims=axes)(
            params,
            step["before"],
            step["moment"]["x"],
            step["tape"],
            self.signal(carry, step),
            carry["influence"],
        )
        return {"influence": influence}, gradient
