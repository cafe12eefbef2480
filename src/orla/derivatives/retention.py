"""Derivatives of networks that keep outer products, whose memories only fade."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.architectures.retention import Retention
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.base import Tape


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

    architecture: Retention

    def sensitivity(self, params: Parameters) -> Parameters:
        a, like = self.architecture, params["W_in"]
        models, n, heads = len(like), a.hidden, a.heads
        return {
            "A": like.new_zeros(models, heads, a.key_size, n),
            "B": like.new_zeros(models, heads, a.value_size, n),
            "C": like.new_zeros(models, heads, a.value_size, a.key_size, n, a.n_in + 1),
        }

    def by_heads(self, params: Parameters) -> tuple[Tensor, Tensor]:
        """W_v (..., heads, values, n) and W_k / sqrt(keys) (..., heads, keys, n)."""
        heads = (self.architecture.heads, -1)
        W_v, W_k = (params[name].unflatten(-2, heads) for name in ("W_v", "W_k"))
        return W_v, W_k / math.sqrt(self.architecture.key_size)

    def past(
        self, P: Parameters, on_S: Tensor, share: Tensor, weights: Parameters, tapes: Tape
    ) -> Parameters:
        """Gradient of the parameters by steps before the present one.

        Args:
            P: The sensitivities before these steps.
            on_S: Cotangent (models, heads, values, keys) on the present step's previous S.
            share: By how much S has faded since each of the steps, and last since `P`
                (steps + 1, models, heads); 0 for a step that does not count.
            weights: Those of each step, as the tapes: steps on the first axis.
            tapes: Of the steps, with what each wrote: "u", "v" and "k" of `Retention.key_value`.
        """
        W_v, W_k = self.by_heads(weights)
        u, v, k = tapes["u"], tapes["v"], tapes["k"]
        scale = math.sqrt(self.architecture.key_size)
        some, before = share[:-1], share[-1][..., None, None] * on_S
        on_v = (on_S * k[:, :, :, None, :]).sum(-1) * some[..., None]
        on_k = (on_S * v[:, :, :, :, None]).sum(-2) * some[..., None]
        on_u = (W_v * on_v[..., None]).sum((2, 3)) + (W_k * on_k[..., None]).sum((2, 3))
        on_C = (before[..., None, None] * P["C"]).sum((1, 2, 3))
        gradient = {
            "W_v": torch.einsum("tmhi,tmn->mhin", on_v, u) + before @ P["A"],
            "W_k": torch.einsum("tmhj,tmn->mhjn", on_k, u) / scale + before.mT @ P["B"],
        }
        gradient = {name: g.flatten(1, 2) for name, g in gradient.items()}
        return gradient | {
            "W_in": torch.einsum("tmn,tmc->mnc", on_u, tapes["x"]) + on_C[..., :-1],
            "b_in": on_u.sum(0) + on_C[..., -1],
        }

    def fade(self, P: Parameters, share: Tensor, weights: Parameters, tapes: Tape) -> None:
        """Compute P after steps from P before them, in place; arguments as those of `past`."""
        W_v, W_k = self.by_heads(weights)
        u, v, k = tapes["u"], tapes["v"], tapes["k"]
        scale = math.sqrt(self.architecture.key_size)
        x = torch.cat([tapes["x"], torch.ones_like(tapes["x"][..., :1])], -1)
        some, before = share[:-1][..., None], share[-1][..., None, None]
        P["A"].mul_(before).add_(torch.einsum("tmhj,tmn->mhjn", some * k, u))
        P["B"].mul_(before).add_(torch.einsum("tmhi,tmn->mhin", some * v, u) / scale)
        kx, vx = ((some * w)[..., None] * x[:, :, None, None] for w in (k, v))
        C = P["C"].mul_(before[..., None, None])
        C.add_(torch.einsum("tmhin,tmhjc->mhijnc", W_v, kx))
        C.add_(torch.einsum("tmhjn,tmhic->mhijnc", W_k, vx))
