"""Take the full gradient where it agrees with the immediate one."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.interventions.base import Gradients, State, norm
from orla.interventions.past import OfPast, dot

# Updates whose cosines a quantile is of.
_MOST_COSINES = 100


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
    the present. Where it never does, nothing is routed; `quantile` 0.5 routes about half: the
    cosine has then to reach the median of those of the last updates (100 at most), its own among
    them. `probes.routed` counts what was routed.

    Where g_past is 0 both gradients are one. Where g_imm is 0, so that there is no cosine, the full
    one is taken. Parameters that only one of them has keep the learner's gradient.
    """

    above: float = option(
        0.0, "Least cosine at which the full gradient is taken.", least=-1, most=1
    )
    quantile: float = option(
        0.0,
        "Quantile of the cosines of the updates so far that it has to reach too; 0 asks for none.",
        least=0,
        most=1,
    )

    def init(self, params: Parameters) -> State:
        """The last cosines (100,), the newest last and -inf where there is none yet."""
        like = next(iter(params.values()))
        return {"cosines": like.new_full((_MOST_COSINES,), -torch.inf)} if self.quantile else {}

    def update(
        self, gradients: Gradients, state: State, params: Parameters
    ) -> tuple[Parameters, State]:
        full, imm = self.full_and_immediate(gradients)
        past = {name: full[name] - imm[name] for name in full}
        # Not divided by the norms, because one of them may be 0.
        agrees = dot(imm, past) >= self.above * norm(imm) * norm(past)
        if self.quantile:
            lengths = norm(imm) * norm(past)
            cosine = torch.where(lengths > 0, dot(imm, past) / lengths, 0.0)
            cosines = torch.cat([state["cosines"][1:], cosine[None]])
            finite = torch.isfinite(cosines)
            # It has reached the quantile where so many of the others lie below it.
            below = (finite & (cosines < cosine)).sum()
            agrees = agrees & (below >= self.quantile * (finite.sum() - 1))
            state = {"cosines": cosines}
        choice = {name: torch.where(agrees, full[name], imm[name]) for name in full}
        return {**gradients.own, **choice}, state
