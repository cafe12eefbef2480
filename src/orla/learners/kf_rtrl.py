"""Kronecker-factored real-time recurrent learning."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import LinearGates, Parameters
from orla.catalogue import Mark, option
from orla.derivatives.structured import StructuredDerivatives
from orla.errors import OrlaError
from orla.learners.balancing import norm, signs, times
from orla.learners.base import Carry, Learner, Step
from orla.programs.scan import materialize


@dataclass(frozen=True)
class KFRTRL(
    Learner,
    name="kf-rtrl",
    label="KF-RTRL",
    order=47,
    mark=Mark("#3f7f93", "d", (0, (2, 1, 2, 3))),
    exactness="unbiased",
    source="Mujika et al. 2018, algorithm 1",
    time="O(n^3)",
    memory="O(n^2)",
):
    """KF-RTRL (Mujika et al. 2018): dh/dtheta is the mean of a random Kronecker product.

    For networks whose parameters enter through pre-activations a = [W_ih W_hh b_h] v_t of
    v_t = (x_t, h_{t-1}, 1), so that D_t is the Kronecker product of v_t and B_t = dh_t/da. With two
    random signs c1 and c2, independent at each step (algorithm 1 of the paper),

        u_t = c1 p1 u_{t-1} + c2 p2 v_t,
        A_t = c1 (J_t A_{t-1}) / p1 + c2 B_t / p2,
        p1 = sqrt(|J_t A_{t-1}| / |u_{t-1}|),  p2 = sqrt(|B_t| / |v_t|),

    u (n_in + hidden + 1,) and A (state_size, gates); eps is added to each norm. The gradient of
    [W_ih W_hh b_h] is the outer product of (dL/dh_t A_t) and u_t. Its mean over the signs is the
    gradient of exact RTRL, given the weights of each step. All gates of an LSTM share u.
    """

    eps: float = option(1e-12, "Keeps norms that are divided by away from zero.", above=0)

    def __post_init__(self) -> None:
        if not isinstance(self.architecture, LinearGates):
            raise OrlaError(
                f"kf-rtrl: the parameters of {type(self.architecture).__name__} do not enter"
                " through pre-activations W_ih x + W_hh h + b_h alone; take uoro, or give the"
                " network the base class LinearGates where they do"
            )

    @property
    def noise(self) -> int:
        return 2

    @property
    def _structured_derivatives(self) -> StructuredDerivatives:
        return StructuredDerivatives(self.architecture)

    def init(self, params: Parameters) -> Carry:
        a, W_hh = self.architecture, params["W_hh"]
        models = len(W_hh)
        # A^T, whose rows are tangents on the state.
        A = W_hh.new_zeros(models, a.gates, a.state_size)
        return {"u": W_hh.new_zeros(models, a.n_in + a.hidden + 1), "A": A}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives, tape, u = self._structured_derivatives, step["tape"], carry["u"]
        if "keep" in tape:  # nothing is carried over the start of a trial
            u = times(tape["keep"], u)
        JA = materialize(derivatives.push(params, tape, step["before"], carry["A"]))
        v, B = derivatives.gate_inputs(tape), materialize(self._by_gates(tape["cache"]))
        p1, p2 = (
            materialize(torch.sqrt((norm(left) + self.eps) / (norm(right) + self.eps)))
            for left, right in ((JA, u), (B, v))
        )
        c1, c2 = signs(step["noise"]).unbind(1)
        u = materialize(times(c1 * p1, u) + times(c2 * p2, v))
        A = times(c1 / p1, JA) + times(c2 / p2, B)
        on_gates = materialize((A * materialize(step["cotangent"])[:, None]).sum(2))
        return {"u": u, "A": A}, derivatives.by_parameter(on_gates[:, :, None] * u[:, None, :])

    def _by_gates(self, cache: Tensor) -> Tensor:
        """B^T (models, gates, state_size)."""
        size = self.architecture.state_size
        unit_vectors = torch.eye(size, dtype=cache.dtype, device=cache.device)
        on_gates, _ = vmap(self.architecture.pull, in_dims=(0, None))(cache, unit_vectors)
        return on_gates.transpose(1, 2)
