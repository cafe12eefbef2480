"""Exact RTRL with a discount on what comes from the past."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orla.catalogue import Mark, option
from orla.derivatives.sensitivity import Sensitivity, SensitivityOps
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class Discounted(
    SensitivityLearner,
    name="discounted",
    label="discounted RTRL",
    order=55,
    mark=Mark("#6a4c93", "P", (0, (1, 1))),
    source="Williams and Zipser 1989, with a discount",
    time="O(n^4)",
    memory="O(n^3)",
):
    """e_t = discount J_t e_{t-1} + D_t: immediate with a discount of 0, exact RTRL with 1."""

    dense: ClassVar[bool] = True
    discount: float = option(0.8, "Factor of what comes from the past.", least=0, most=1)

    def transport(self, ops: SensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        return ops.transport(self.discount * ops.jacobian(), sensitivity)
