"""Eligibility traces."""

from __future__ import annotations

from dataclasses import dataclass

from orla.catalogue import option
from orla.derivatives.influence import Influence, Words
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class Trace(
    SensitivityLearner,
    name="trace",
    label="trace",
    order=50,
    source="docs/protocol.md, trace(decay); Murray 2019 and Bellec et al. 2020 for the family",
    time="O(n^2); O(n^3) where units are not independent",
    memory="O(n^2); O(n^3) where units are not independent",
):
    """e_t = decay e_{t-1} + D_t, gradient (dL/dh_t) e_t; decay 0 is immediate."""

    decay: float = option(0.9, "Factor of the previous trace.", least=0, most=1)

    def advance(self, words: Words, influence: Influence) -> Influence:
        direct = words.direct()
        return {name: self.decay * e + direct[name] for name, e in influence.items()}
