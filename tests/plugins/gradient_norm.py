"""How large the gradients are."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from orla.interventions.base import norm
from orla.probes.base import Probe, State, Update


@dataclass(frozen=True)
class GradientNorm(
    Probe,
    name="gradient_norm",
    label="gradient norm",
    columns={
        "gradient_norm": "mean over updates of the norm of what the optimizer was given",
        "learned_norm": "mean over updates of the norm of what the learner answered",
    },
):
    """Euclidean norm over all parameters, before and after what is done to the gradient."""

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        return state, {
            "gradient_norm": norm(update.gradients),
            "learned_norm": norm(update.learner),
        }
