"""SnAp-1: exact RTRL's recursion, each unit's own path alone."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.catalogue import Mark
from orla.derivatives.influence import Influence, Words
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class SnAp1(
    SensitivityLearner,
    name="snap-1",
    label="SnAp-1",
    order=45,
    mark=Mark("#6a4c93", "P", (0, (1, 1))),
    source="Menick et al. 2021",
):
    """e_t = diag(J_t) e_{t-1} + D_t: what reaches a unit through other units is left out.

    For networks with one number a unit in their state, and those with independent units.
    """

    def advance(self, words: Words, influence: Influence) -> Influence:
        jacobian = words.jacobian()
        if jacobian.dim() == 2:  # of all units by all; else of each unit by itself already
            jacobian = jacobian * torch.eye(len(jacobian)).to(jacobian)
        moved, direct = words.transport(jacobian, influence), words.direct()
        return {name: e + direct[name] for name, e in moved.items()}
