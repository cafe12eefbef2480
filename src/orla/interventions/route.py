"""Take the full gradient where it agrees with the immediate one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.interventions.base import Gradients, State, norm
from orla.interventions.past import OfPast, dot


@dataclass(frozen=True, kw_only=True)
class Route(
    OfPast,
    name="route",
    label="past only where its cosine with {immediate} is at least {above:g}",
):
    """Per-window cosine routing: g = g_full where cos(g_imm, g_past) >= above, else g_imm.

    The paper (Section 3, falsified alternatives) names per-window cosine routing and does not
    define it; this definition is ours. The cosine is that of the update, so of a window where the
    learner updates once a window. With the threshold 0, the past is added unless it points against
    the present.

    Where g_past is 0 both gradients are one. Where g_imm is 0, so that there is no cosine, the full
    one is taken. Parameters that only one of them has keep the learner's gradient.
    """

    above: float = option(
        0.0, "Least cosine at which the full gradient is taken.", least=-1, most=1
    )

    def update(
        self, gradients: Gradients, state: State, params: Parameters
    ) -> tuple[Parameters, State]:
        full, imm = self.parted(gradients)
        past = {name: full[name] - imm[name] for name in full}
        # Not divided by the norms, because one of them may be 0.
        agrees = dot(imm, past) >= self.above * norm(imm) * norm(past)
        routed = {name: torch.where(agrees, full[name], imm[name]) for name in full}
        return {**gradients.own, **routed}, state
