"""Random feedback local online learning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from orla.catalogue import Mark, option
from orla.derivatives.influence import Influence, OwnUnitWords
from orla.errors import OrlaError
from orla.learners.feedback import FeedbackLearner, name_of

# 1/tau of the paper's simulations, tau being 10 steps.
_LEAK = 0.1


@dataclass(frozen=True)
class RFLO(
    FeedbackLearner,
    name="rflo",
    label="RFLO",
    order=51,
    mark=Mark("#2a9d8f", "<", (0, (3, 1, 1, 1))),
    source="Murray 2019, eLife 8:e43299",
    time="O(n^2)",
    memory="O(n^2)",
):
    """RFLO (Murray 2019): traces that leak as the units do, what passes through W_hh left out.

    For h_t = (1 - a) h_{t-1} + a phi(u_t) with u_t = W_ih x_t + W_hh h_{t-1} + b_h and the leak
    a = 1/tau, the trace of a weight from j to unit i is

        p_t^{ij} = (1 - a) p_{t-1}^{ij} + a phi'(u_t^i) h_{t-1}^j

    (x_t^j or 1 in the place of h_{t-1}^j for inputs and biases), and its gradient L_t^i p_t^{ij}
    with the learning signal L_t = B dL/dy_t. The paper's B is random and fixed: feedback "random".

    `leak` is the a of the trace: that of the network, unless another one is given. A network that
    does not leak (a = 1, for which the trace would be the immediate derivative) gets the paper's.
    """

    leak: float | None = option(
        None,
        "1/tau of the trace; null: that of the network, and 0.1 where the network does not leak.",
        above=0,
        most=1,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        a = self.architecture
        if not a.hidden == a.state_size == a.gates:
            raise OrlaError(
                f"{self.part.name}: its trace is for units with one number of state and one"
                f" pre-activation each, leaky or not, and those of the network {name_of(a)} have"
                f" {a.state_size // a.hidden} and {a.gates // a.hidden}; take another learner"
            )
        _ = self._leaks  # now, because a loop that is compiled can look at no value

    @cached_property
    def _leaks(self) -> bool:
        """Whether the network leaks by itself, from one step of it away from zero."""
        a = self.architecture
        params = {name: torch.full(shape, 0.1) for name, shape in a.shapes().items()}
        state, x = torch.full((a.state_size,), 0.1), torch.full((a.n_in,), 0.1)
        _, cache = a.step_with_cache(params, state, x)
        return bool(a.unit_jacobian(cache)[1].any())

    def advance(self, words: OwnUnitWords, influence: Influence) -> Influence:
        remainder, direct = words.around(), words.direct()  # 1 - a of the network, and a phi'(u) h
        if self.leak is None and self._leaks:
            past = words.transport_within(remainder, influence)
        else:
            leak = _LEAK if self.leak is None else self.leak
            direct = words.transport_within(leak / (1.0 - remainder), direct)
            past = {name: (1.0 - leak) * p for name, p in influence.items()}
        return {name: p + direct[name] for name, p in past.items()}
