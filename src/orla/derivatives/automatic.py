"""Derivatives of any network, by automatic differentiation; and where memories only fade."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vjp, vmap

from orla.architectures.base import Parameters
from orla.architectures.retnet import RetNet
from orla.derivatives.base import Derivatives, Local, StreamStep, Tape, axis_of_models


@dataclass(frozen=True)
class AutomaticDerivatives(Derivatives):
    """A step's local term is its term of the parameters' gradient.

    Sensitivities are {parameter: (models, *shape, state)}, dense.
    """

    def step(self, params: Parameters, state: Tensor, step: StreamStep) -> tuple[Tensor, Tape]:
        x, in_dims = step["x"], (0, 0, axis_of_models(step))
        next_state = vmap(self.architecture.step, in_dims=in_dims)(params, state, x)
        return next_state, {"state": state, "x": x.expand(state.shape[0], -1)}

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        recurrent = self.architecture.recurrent_params(params)

        def pull_one(
            recurrent: Parameters, state: Tensor, x: Tensor, cotangent: Tensor
        ) -> tuple[Parameters, Tensor]:
            _, pull = vjp(lambda p, s: self.architecture.step(p, s, x), recurrent, state)
            return pull(cotangent) if cotangent.dim() == 1 else vmap(pull)(cotangent)

        gradient, state_cotangent = vmap(pull_one)(recurrent, tape["state"], tape["x"], cotangent)
        return state_cotangent, gradient

    def local_template(self, params: Parameters, tape: Tape, cotangent: Tensor) -> Local:
        # Not from derivatives, for which PyTorch loads its compiler.
        return self.zero_gradient_terms(params)

    def summed_gradient(self, tapes: Tape, locals_: Local) -> Parameters:
        return {name: gradient.sum(0) for name, gradient in locals_.items()}

    def zero_sensitivity(self, params: Parameters) -> Parameters:
        size = self.architecture.state_size
        return {n: p.new_zeros(*p.shape, size) for n, p in self.zero_gradient_terms(params).items()}

    def zero_gradient_terms(self, params: Parameters) -> Parameters:
        recurrent = self.architecture.recurrent_params(params)
        return {name: p.new_zeros(p.shape) for name, p in recurrent.items()}

    def accumulate_gradient_terms(
        self, terms: Parameters, tapes: Tape, locals_: Local
    ) -> Parameters:
        gradient = self.summed_gradient(tapes, locals_)
        return {name: g + terms[name] for name, g in gradient.items()}

    def gradient_within_block(
        self, sensitivity: Parameters, start_cotangent: Tensor, terms: Parameters
    ) -> Parameters:
        return {
            name: terms[name] + vmap(torch.matmul)(p, start_cotangent)
            for name, p in sensitivity.items()
        }

    def advance_sensitivity_over_block(
        self, sensitivity: Parameters, block_jacobian: Tensor, tapes: Tape, locals_: Local
    ) -> None:
        for name, p in sensitivity.items():
            through = vmap(torch.matmul)(p, block_jacobian.transpose(1, 2))
            torch.add(through, locals_[name].sum(0).movedim(1, -1), out=p)


@dataclass(frozen=True)
class RetentionDerivatives(AutomaticDerivatives):
    """A step by automatic differentiation; dS/dtheta as sums over the past, of few numbers.

    With S_t = sum_k gamma^(t-k) v_k k_k^T, the sensitivities of a head's S_ij are

        dS_ij/dW_v[i, m] = A_jm,  A = sum_k gamma^(t-k) k_k u_k^T
        dS_ij/dW_k[j, m] = B_im,  B = sum_k gamma^(t-k) v_k u_k^T / sqrt(keys)
        dS_ij/d(W_in, b_in)[m, c] = C_ijmc,
            C = sum_k gamma^(t-k) (W_v[i, m] k_k[j] + v_k[i] W_k[j, m] / sqrt(keys)) (x_k, 1)[c]

    with the weights of each step k; all else is 0. They are {"A": (models, heads, keys, n),
    "B": (models, heads, values, n), "C": (models, heads, values, keys, n, n_in + 1)}: 2 n^2 +
    n^3 (n_in + 1) numbers of one head with n units, where the dense matrix would have some 4 n^4.
    """

    architecture: RetNet

    def zero_sensitivity(self, params: Parameters) -> Parameters:
        a, like = self.architecture, params["W_in"]
        models, n, heads = len(like), a.hidden, a.heads
        return {
            "A": like.new_zeros(models, heads, a.key_size, n),
            "B": like.new_zeros(models, heads, a.value_size, n),
            "C": like.new_zeros(models, heads, a.value_size, a.key_size, n, a.n_in + 1),
        }

    def head_value_and_key_weights(self, params: Parameters) -> tuple[Tensor, Tensor]:
        """W_v (..., heads, values, n) and W_k / sqrt(keys) (..., heads, keys, n)."""
        heads = (self.architecture.heads, -1)
        W_v, W_k = (params[name].unflatten(-2, heads) for name in ("W_v", "W_k"))
        return W_v, W_k / math.sqrt(self.architecture.key_size)

    def past_gradient(
        self,
        sensitivity: Parameters,
        S_cotangent: Tensor,
        decay: Tensor,
        weights: Parameters,
        tapes: Tape,
    ) -> Parameters:
        """Gradient of the parameters by the steps between `sensitivity` and the present step.

        S_cotangent (models, heads, values, keys): On the present step's previous S.
        decay (steps + 1, models, heads): By how much S has faded since each of the steps, and last
            since `sensitivity`; 0 for a step that does not count.
        tapes: With what each step wrote: "u", "v" and "k" of `RetNet.input_value_key`.
        """
        W_v, W_k = self.head_value_and_key_weights(weights)
        u, v, k = tapes["u"], tapes["v"], tapes["k"]
        scale = math.sqrt(self.architecture.key_size)
        some, past_cotangent = decay[:-1], decay[-1][..., None, None] * S_cotangent
        v_cotangent = (S_cotangent * k[:, :, :, None, :]).sum(-1) * some[..., None]
        k_cotangent = (S_cotangent * v[:, :, :, :, None]).sum(-2) * some[..., None]
        u_cotangent = (W_v * v_cotangent[..., None]).sum((2, 3))
        u_cotangent = u_cotangent + (W_k * k_cotangent[..., None]).sum((2, 3))
        C_cotangent = (past_cotangent[..., None, None] * sensitivity["C"]).sum((1, 2, 3))
        W_v_gradient = torch.einsum("tmhi,tmn->mhin", v_cotangent, u)
        W_k_gradient = torch.einsum("tmhj,tmn->mhjn", k_cotangent, u) / scale
        return {
            "W_v": (W_v_gradient + past_cotangent @ sensitivity["A"]).flatten(1, 2),
            "W_k": (W_k_gradient + past_cotangent.mT @ sensitivity["B"]).flatten(1, 2),
            "W_in": torch.einsum("tmn,tmc->mnc", u_cotangent, tapes["x"]) + C_cotangent[..., :-1],
            "b_in": u_cotangent.sum(0) + C_cotangent[..., -1],
        }

    def advance_sensitivity_over_steps(
        self, sensitivity: Parameters, decay: Tensor, weights: Parameters, tapes: Tape
    ) -> None:
        """Compute P after steps from P before them, in place; arguments as `past_gradient`."""
        W_v, W_k = self.head_value_and_key_weights(weights)
        u, v, k = tapes["u"], tapes["v"], tapes["k"]
        scale = math.sqrt(self.architecture.key_size)
        x = torch.cat([tapes["x"], torch.ones_like(tapes["x"][..., :1])], -1)
        some, retention = decay[:-1][..., None], decay[-1][..., None, None]
        sensitivity["A"].mul_(retention).add_(torch.einsum("tmhj,tmn->mhjn", some * k, u))
        sensitivity["B"].mul_(retention).add_(torch.einsum("tmhi,tmn->mhin", some * v, u) / scale)
        kx, vx = ((some * w)[..., None] * x[:, :, None, None] for w in (k, v))
        C = sensitivity["C"].mul_(retention[..., None, None])
        C.add_(torch.einsum("tmhin,tmhjc->mhijnc", W_v, kx))
        C.add_(torch.einsum("tmhjn,tmhic->mhijnc", W_k, vx))
