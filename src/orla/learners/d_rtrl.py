"""RTRL with the diagonal of the Jacobian."""

from __future__ import annotations

from dataclasses import dataclass

from orla.architectures.elementwise import ElementWise
from orla.catalogue import Mark
from orla.derivatives.influence import ElementWords, Influence, Words
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class DRTRL(
    SensitivityLearner,
    name="d_rtrl",
    label="D-RTRL",
    order=47,
    mark=Mark("#c2185b", "h", (0, (6, 1.5))),
    source="Wang et al. 2026, Nature Communications, doi 10.1038/s41467-026-68453-w",
    time="O(n^2), O(n^3) where units are not independent",
    memory="O(n^2), O(n^3) where units are not independent",
):
    """e_t = diag(J_t) e_{t-1} + D_t, gradient (dL/dh_t) e_t, for any network (Wang et al. 2026).

    diag(J_t) holds the derivatives of each unit's state by its own previous one, its weight on
    itself included; where a unit has several numbers of state, such as the h and c of an LSTM, they
    are the block of these. Where the state is blocks of `hidden` numbers, number u of each block is
    unit u's; in any other state each number is a unit.

    In the authors' package braintrace this is D_RTRL with recurrence_scope "coupled". Its default
    scope, "diagonal", leaves out W_hh altogether, which is e-prop with exact feedback here.
    """

    @property
    def _words(self) -> type[Words]:
        return ElementWords if isinstance(self.architecture, ElementWise) else super()._words

    def advance(self, words: Words, influence: Influence) -> Influence:
        past, direct = words.transport_within(words.within(), influence), words.direct()
        return {name: e + direct[name] for name, e in past.items()}
