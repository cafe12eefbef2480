"""Sparse n-step approximation of exact RTRL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.derivatives.influence import Influence, Words, own_units
from orla.errors import OrlaError
from orla.learners.base import Carry
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class SnAp(
    SensitivityLearner,
    name="snap",
    label="SnAp-{steps}",
    order=45,
    mark=Mark("#6a4c93", "P", (0, (1, 1))),
    short=("steps",),
    source="Menick et al. 2021, section 3",
    time="steps 1: O(n^2), or O(n^4) where units are not independent; more: O(n^4)",
    memory="steps 1: O(n^2), or O(n^3) where units are not independent; more: O(n^3)",
):
    """SnAp-n: e_t = M (J_t e_{t-1} + D_t), where M keeps what is reached within n = `steps` steps.

    M is 1 at (number i of the state, parameter j) where the parameter reaches that number within n
    steps: M_1 is the pattern of D, and M_n that of J M_{n-1} + D (Menick et al. 2021). The gradient
    is (dL/dh_t) e_t. The patterns are those that the architecture declares.

    With one step and independent units, e is as large as the parameters. Else it is dense, zeros
    included: as large as exact RTRL's, and each step takes a product of J with all of it. Where a
    dense W_hh joins all units, as in the RNN and the LSTM, two steps reach everything: SnAp-2 is
    exact RTRL there, and `rtrl` computes the same faster.
    """

    steps: int = option(1, "Steps within which a parameter reaches what is kept.", least=1)

    def __post_init__(self) -> None:
        if self.architecture.pattern() is None:
            raise OrlaError(
                f"snap-{self.steps}: {type(self.architecture).__name__} does not say which numbers"
                " of its state depend on which; declare its `pattern` (of LinearGates with"
                " independent units its `unit_pattern`), or take another learner"
            )

    @property
    def dense(self) -> bool:
        """Whether e has an entry for every number of the state and every parameter."""
        return self.steps > 1 or not own_units(self.architecture)

    def mask(self) -> Influence:
        """M, of a shape that broadcasts to e of one model; True where it is 1."""
        pattern = self.architecture.pattern()
        if not self.dense:
            hidden = self.architecture.hidden
            by_unit = pattern.by_parameter["b_h"].unflatten(1, (-1, hidden))
            diagonal = torch.diagonal(by_unit.unflatten(0, (-1, hidden)), dim1=1, dim2=3)
            return {"e": diagonal.flatten(1)[:, :, None]}
        by_state, masks = pattern.by_state.double(), pattern.by_parameter
        for _ in range(self.steps - 1):
            masks = {name: mask | _reach(by_state, masks[name]) for name, mask in masks.items()}
        return masks

    def buffers(self, params: Parameters) -> dict[str, Any]:
        masks = self.mask()
        if all(mask.all() for mask in masks.values()):
            return {}
        device = next(iter(params.values())).device
        return {"kept": {name: mask.to(device) for name, mask in masks.items()}}

    def advance(self, words: Words, influence: Influence) -> Influence:
        past, direct = words.transport(words.jacobian(), influence), words.direct()
        return {name: e + direct[name] for name, e in past.items()}

    def apply_mask(self, influence: Influence, carry: Carry) -> Influence:
        if "kept" not in carry:  # everything is
            return influence
        return {name: torch.where(carry["kept"][name], e, 0.0) for name, e in influence.items()}


def _reach(by_state: Tensor, mask: Tensor) -> Tensor:
    """Where J times what `mask` keeps is not zero."""
    return torch.tensordot(by_state, mask.double(), 1) > 0
