"""Eligibility propagation."""

from __future__ import annotations

from dataclasses import dataclass

from orla.catalogue import Mark
from orla.derivatives.influence import Influence, OwnUnitWords
from orla.learners.feedback import FeedbackLearner


@dataclass(frozen=True)
class EProp(
    FeedbackLearner,
    name="eprop",
    label="e-prop",
    order=52,
    mark=Mark("#b5651d", ">", (0, (5, 1, 1, 1))),
    source="Bellec et al. 2020, Nature Communications 11:3625, e-prop 1",
    time="O(n^2)",
    memory="O(n^2)",
):
    """e-prop 1 (Bellec et al. 2020): each unit's hidden state carries its own derivatives.

    With s_t the hidden state of a unit, theta its own parameters and z_t what other units see,

        eps_t = (ds_t/ds_{t-1}) eps_{t-1} + ds_t/dtheta,    e_t = (dz_t/ds_t) eps_t + dz_t/dtheta

    and the gradient is L_t e_t with the learning signal L_t = B dL/dy_t: B = W_out^T (symmetric
    e-prop, feedback "exact") or fixed and random (feedback "random", broadcast alignment).

    ds_t/ds_{t-1} is the paper's implicit recurrence, the unit's past without what passes through
    W_hh, its own weight included: the forget gate of an LSTM, whose s is the cell (the paper's
    supplement), 1 - 1/tau of a leaky unit, for which the rule is RFLO. A vanilla RNN has none:
    e-prop is the immediate gradient there. Learning signals are not filtered, because outputs do
    not leak (the paper's kappa is 0), and the update is made at each step.
    """

    def advance(self, words: OwnUnitWords, influence: Influence) -> Influence:
        # z_t and s_t are blocks of one state here, so that both equations are one product.
        past, direct = words.transport_within(words.around(), influence), words.direct()
        return {name: e + direct[name] for name, e in past.items()}
