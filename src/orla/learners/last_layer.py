"""The readout alone learns: what can be recovered without learning recurrent weights."""

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
    time="O(1)",
    memory="O(1)",
):
    """The readout alone learns; recurrent parameters stay as they are."""

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        return carry, {}
