"""Learners whose sensitivity is a product of two random factors: UORO and KF-RTRL."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import vmap
from torch.utils import _pytree as pytree

from orla.architectures.base import LinearGates, Parameters
from orla.catalogue import Mark, option
from orla.errors import OrlaError
from orla.learners.base import Carry, Learner, Step
from orla.programs.scan import materialize


def signs(noise: Tensor) -> Tensor:
    """-1 or 1, each with probability one half, from numbers that are uniform on [0, 1)."""
    return materialize(1.0 - 2.0 * (noise < 0.5).to(noise.dtype))


def norm(tensors: Tensor | Parameters) -> Tensor:
    """Euclidean norm (models,) of all numbers of a model, each tensor (models, ...)."""
    squares = [t * t for t in pytree.tree_leaves(tensors)]
    # By columns first, since a vector register holds numbers of several rows.
    by_row = [s.flatten(2).sum(2) if s.dim() > 2 else s for s in squares]
    return torch.sqrt(sum(s.sum(1) for s in by_row))


def times(factor: Tensor, tensor: Tensor) -> Tensor:
    """A factor for each model (models,), times a tensor (models, ...)."""
    return factor.reshape(-1, *[1] * (tensor.dim() - 1)) * tensor


@dataclass(frozen=True)
class UORO(
    Learner,
    name="uoro",
    label="UORO",
    order=46,
    mark=Mark("#4f7d1f", "X", (0, (2, 2))),
    exactness="unbiased",
    source="Tallec and Ollivier 2017, algorithm 1",
    time="O(n^2)",
    memory="O(n^2)",
):
    """UORO (Tallec and Ollivier 2017): dh/dtheta is the mean of a random product of two vectors.

    With a vector nu of random signs, independent at each step (algorithm 1 of the paper),

        s_t = rho0 J_t s_{t-1} + rho1 nu,
        theta_t = theta_{t-1} / rho0 + (nu D_t) / rho1,
        rho0 = sqrt(|theta_{t-1}| / (|J_t s_{t-1}| + eps)) + eps,
        rho1 = sqrt(|nu D_t| / (|nu| + eps)) + eps,

    s (state_size,) and theta as the recurrent parameters. The gradient is

        (dL/dh_t J_t s_{t-1}) theta_{t-1} + dL/dh_t D_t,

    the past by the two vectors and the step itself exactly, as in algorithm 1, whose loss depends
    on the state before the step and on the parameters. Its mean over the signs is the gradient of
    exact RTRL, given the weights of each step.

    J_t s is a tangent pushed forward, nu D_t and dL/dh_t D_t are cotangents pulled back; neither
    matrix is built.
    """

    eps: float = option(1e-7, "Keeps norms that are divided by away from zero.", above=0)

    @property
    def noise_size(self) -> int:
        return self.architecture.state_size

    def init(self, params: Parameters) -> Carry:
        s = torch.zeros_like(vmap(self.architecture.initial_state)(params))
        recurrent = self.architecture.recurrent_params(params)
        return {"s": s, "theta": {name: torch.zeros_like(p) for name, p in recurrent.items()}}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives, tape, theta = self.derivatives, step["tape"], carry["theta"]
        if "keep" in tape:  # nothing is carried over the start of a trial
            theta = {name: times(tape["keep"], p) for name, p in theta.items()}
        Js = materialize(derivatives.push(params, tape, step["before"], carry["s"]))
        along = (materialize(step["cotangent"]) * Js).sum(1)
        _, local = derivatives.pull(params, tape, step["cotangent"])
        present = derivatives.summed_gradient(*pytree.tree_map(lambda t: t[None], (tape, local)))
        gradient = {name: times(along, p) + present[name] for name, p in theta.items()}

        rho0 = materialize(torch.sqrt(norm(theta) / (norm(Js) + self.eps)) + self.eps)

        nu = signs(step["noise"])
        _, local = derivatives.pull(params, tape, nu)
        window = pytree.tree_map(lambda t: materialize(t)[None], (tape, local))
        direct = derivatives.summed_gradient(*window)  # nu D_t
        length = torch.sqrt(derivatives.one_step_gradient_square(*window))
        rho1 = materialize(torch.sqrt(length / (norm(nu) + self.eps)) + self.eps)

        s = materialize(times(rho0, Js) + times(rho1, nu))
        theta = {n: times(1 / rho0, p) + times(1 / rho1, direct[n]) for n, p in theta.items()}
        return {"s": s, "theta": theta}, gradient


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

    noise_size: ClassVar[int] = 2
    eps: float = option(1e-12, "Keeps norms that are divided by away from zero.", above=0)

    def __post_init__(self) -> None:
        if not isinstance(self.architecture, LinearGates):
            raise OrlaError(
                f"kf-rtrl: the parameters of {type(self.architecture).__name__} do not enter"
                " through pre-activations W_ih x + W_hh h + b_h alone; take uoro, or give the"
                " network the base class LinearGates where they do"
            )

    def init(self, params: Parameters) -> Carry:
        a, W_hh = self.architecture, params["W_hh"]
        models = len(W_hh)
        # A^T, whose rows are tangents on the state.
        A = W_hh.new_zeros(models, a.preactivation_size, a.state_size)
        return {"u": W_hh.new_zeros(models, a.n_in + a.hidden + 1), "A": A}

    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        derivatives, tape, u = self.derivatives, step["tape"], carry["u"]
        if "keep" in tape:  # nothing is carried over the start of a trial
            u = times(tape["keep"], u)
        JA = materialize(derivatives.push(params, tape, step["before"], carry["A"]))
        v = derivatives.augmented_inputs(tape)
        B = materialize(self._transposed_gate_jacobian(tape["cache"]))
        p1, p2 = (
            materialize(torch.sqrt((norm(left) + self.eps) / (norm(right) + self.eps)))
            for left, right in ((JA, u), (B, v))
        )
        c1, c2 = signs(step["noise"]).unbind(1)
        u = materialize(times(c1 * p1, u) + times(c2 * p2, v))
        A = times(c1 / p1, JA) + times(c2 / p2, B)
        gates_cotangent = materialize((A * materialize(step["cotangent"])[:, None]).sum(2))
        gradient = gates_cotangent[:, :, None] * u[:, None, :]
        return {"u": u, "A": A}, self.architecture.by_parameter(gradient)

    def _transposed_gate_jacobian(self, cache: Tensor) -> Tensor:
        """B_t transposed: the next state by the pre-activations (models, gates, state_size)."""
        size = self.architecture.state_size
        unit_vectors = torch.eye(size, dtype=cache.dtype, device=cache.device)
        gate_jacobian, _ = vmap(self.architecture.pull, in_dims=(0, None))(cache, unit_vectors)
        return gate_jacobian.transpose(1, 2)
