"""Learners whose errors reach the units by a feedback matrix: RFLO and e-prop."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from orla.catalogue import Mark, option
from orla.derivatives.sensitivity import (
    Sensitivity,
    UnitSensitivityOps,
    can_use_unit_sensitivity,
)
from orla.errors import OrlaError
from orla.learners.base import Carry, Step, network_name
from orla.learners.sensitivity import SensitivityLearner


@dataclass(frozen=True)
class FeedbackLearner(SensitivityLearner):
    """The gradient is L_t e_t with the learning signal L_t = B dL/dy_t, e_t each unit's own.

    feedback "exact": B = W_out^T, and L_t is dL/dh_t (e-prop's symmetric feedback).
    feedback "random": B (hidden, n_out) is drawn once a model, normal with standard deviation
    feedback_scale / sqrt(n_out), and stays as it is (feedback alignment: Lillicrap et al. 2016).
    """

    feedback: str = option(
        "exact",
        "Weights that errors come back by: the readout's own, or fixed random ones.",
        choices=("exact", "random"),
    )
    feedback_scale: float = option(
        1.0, "Standard deviation of random feedback weights, times the root of n_out.", above=0
    )

    def __post_init__(self) -> None:
        if not can_use_unit_sensitivity(self.architecture):
            raise OrlaError(
                f"{self.part.name}: the network {network_name(self.architecture)} does not declare"
                " that its units are independent (units_independent), so that a unit's own past"
                " cannot be told from that of the others; take a network that does"
            )

    @property
    def reads_outputs(self) -> bool:
        return self.feedback == "random"

    @property
    def fixed_noise_size(self) -> int:
        return self.architecture.hidden * self.architecture.n_out if self.reads_outputs else 0

    def learning_signal(self, carry: Carry, step: Step) -> Tensor:
        if not self.reads_outputs:
            return step["cotangent"]
        n_out = self.architecture.n_out
        weights = carry["fixed_noise"].unflatten(1, (-1, n_out))
        h_cotangent = (weights * step["outputs_cotangent"][:, None]).sum(-1)
        return self.derivatives.pad_cotangent(self.feedback_scale / math.sqrt(n_out) * h_cotangent)


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
        if not a.hidden == a.state_size == a.preactivation_size:
            raise OrlaError(
                f"{self.part.name}: its trace is for units with one number of state and one"
                f" pre-activation each, leaky or not, and those of the network {network_name(a)}"
                f" have {a.state_size // a.hidden} and {a.preactivation_size // a.hidden}; take "
                "another learner"
            )
        _ = self._network_leaks  # now, because a loop that is compiled can look at no value

    @cached_property
    def _network_leaks(self) -> bool:
        """Whether the network leaks by itself, from one step of it away from zero."""
        a = self.architecture
        params = {name: torch.full(shape, 0.1) for name, shape in a.shapes().items()}
        state, x = torch.full((a.state_size,), 0.1), torch.full((a.n_in,), 0.1)
        _, cache = a.step_with_cache(params, state, x)
        return bool(a.unit_jacobian(cache)[1].any())

    def advance(self, ops: UnitSensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        # 1 - a of the network, and a phi'(u) h.
        remainder, direct = ops.leak_jacobian(), ops.direct()
        if self.leak is None and self._network_leaks:
            past = ops.transport_within_units(remainder, sensitivity)
        else:
            leak = _LEAK if self.leak is None else self.leak
            direct = ops.transport_within_units(leak / (1.0 - remainder), direct)
            past = {name: (1.0 - leak) * p for name, p in sensitivity.items()}
        return {name: p + direct[name] for name, p in past.items()}


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

    def transport(self, ops: UnitSensitivityOps, sensitivity: Sensitivity) -> Sensitivity:
        # z_t and s_t are blocks of one state here, so that both equations are one product.
        return ops.transport_within_units(ops.leak_jacobian(), sensitivity)
