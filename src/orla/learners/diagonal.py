"""Exact RTRL of networks whose recurrence is element-wise."""

from __future__ import annotations

from dataclasses import dataclass

from orla.architectures.elementwise import ElementWise
from orla.catalogue import Mark
from orla.derivatives.influence import ElementWords, Influence, Words
from orla.errors import OrlaError
from orla.learners.feedback import name_of
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class Diagonal(
    SensitivityLearner,
    name="diagonal",
    label="element-wise RTRL",
    order=22,
    mark=Mark("#7a2048", "*", "-"),
    exactness="exact",
    source="Zucchet et al. 2023, Online learning of long-range dependencies, NeurIPS",
    time="O(k p), p parameters, k complex numbers a unit",
    memory="O(k p), p parameters, k complex numbers a unit",
):
    """Exact RTRL at the cost of the parameters (Zucchet et al. 2023), one update a step.

    For h_t = lambda h_{t-1} + u(x_t), element by element and complex, the sensitivity of a number
    by the parameters of its own unit is e_t = lambda e_{t-1} + D_t: for lambda itself
    e_t = lambda e_{t-1} + h_{t-1}, for B in u = B x it is e_t = lambda e_{t-1} + x_t. No number
    depends on the past of another one, so that nothing is left out. The gradient is (dL/dh_t) e_t,
    with what `now`, which has no past, adds.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.architecture, ElementWise):
            raise OrlaError(
                f"{self.part.name}: the recurrence of the network {name_of(self.architecture)} is"
                " not element-wise (its class is no ElementWise), so that this would not be exact;"
                " take rtrl, which is exact for every network"
            )

    @property
    def _words(self) -> type[Words]:
        return ElementWords

    def advance(self, words: Words, influence: Influence) -> Influence:
        past, direct = words.transport(words.jacobian(), influence), words.direct()
        return {name: e + direct[name] for name, e in past.items()}
