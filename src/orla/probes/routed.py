"""How many updates have another gradient than the immediate one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.catalogue import option
from orla.probes.base import Probe, State, Update


@dataclass(frozen=True)
class Routed(
    Probe,
    name="routed",
    label="routed updates",
    columns={
        "routed_share": "share of updates whose gradient, after all interventions, is not that of "
        "`immediate`",
    },
):
    """Whether an intervention such as `route` took the full gradient: any number differs.

    An update in which g_past is 0 counts as not routed. With a share of 0 or of 1 the intervention
    did nothing that one of the two learners does not do.
    """

    immediate: str = option(text="The observer with the immediate gradient.")

    def observers(self) -> tuple[str, ...]:
        return (self.immediate,)

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        gradient, imm = update.gradients, update.observers[self.immediate]
        differs = [(gradient[name] != imm[name]).any() for name in gradient if name in imm]
        return state, {"routed_share": torch.stack(differs).any().to(update.state.dtype)}
