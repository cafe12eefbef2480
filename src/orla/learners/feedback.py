"""The learning signal of local rules: the error's way back to the units, exact or random."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from orla.architectures.base import Architecture
from orla.catalogue import option
from orla.derivatives.influence import own_units
from orla.errors import OrlaError
from orla.learners.base import Carry, Step
from orla.learners.sensitivity import SensitivityLearner


def name_of(architecture: Architecture) -> str:
    """What a message calls a network."""
    return architecture.part.name if architecture.part else type(architecture).__name__


@dataclass(frozen=True)
class FeedbackLearner(SensitivityLearner):
    """The gradient is L_t e_t with the learning signal L_t = B dL/dy_t, e_t each unit's own.

    feedback "exact": B = W_out^T, and L_t is dL/dh_t (e-prop's symmetric feedback).
    feedback "random": B (hidden, n_out) is drawn once a model, normal with standard deviation
    feedback_scale / sqrt(n_out), and stays as it is (feedback alignment: Lillicrap et al. 2016).
    """

    feedback: str = option(
        "exact",
        "Weights that errors come back by: the readout's own, or fixed random ones.",
        choices=("exact", "random"),
    )
    feedback_scale: float = option(
        1.0, "Standard deviation of random feedback weights, times the root of n_out.", above=0
    )

    def __post_init__(self) -> None:
        if not own_units(self.architecture):
            raise OrlaError(
                f"{self.part.name}: the network {name_of(self.architecture)} does not declare that"
                " its units are independent (units_independent), so that a unit's own past cannot"
                " be told from that of the others; take a network that does"
            )

    @property
    def _random(self) -> bool:
        return self.feedback == "random"

    @property
    def reads_outputs(self) -> bool:
        return self._random

    @property
    def fixed_noise(self) -> int:
        return self.architecture.hidden * self.architecture.n_out if self._random else 0

    def signal(self, carry: Carry, step: Step) -> Tensor:
        if not self._random:
            return step["cotangent"]
        n_out = self.architecture.n_out
        weights = carry["fixed_noise"].unflatten(1, (-1, n_out))
        on_h = (weights * step["on_outputs"][:, None]).sum(-1)
        return self.derivatives.on_state(self.feedback_scale / math.sqrt(n_out) * on_h)
