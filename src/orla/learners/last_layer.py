"""Readout only: the floor that remapping the output reaches."""

from __future__ import annotations

from dataclasses import dataclass

from orla.architectures.base import Parameters
from orla.catalogue import Mark
from orla.learners.base import Carry, Learner, Step


@dataclass(frozen=True)
class LastLayer(
    Learner,
    name="last-layer",
    label="last layer",
    order=60,
    mark=Mark("#5f7f6f", "v", (0, (1, 1))),
    source="the paper's floor (Appendix A)",
):
    """The recurrent parameters stand still: the readout learns alone."""

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        return carry, {}
