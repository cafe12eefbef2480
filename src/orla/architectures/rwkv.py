"""Time mixing of RWKV-4."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec
from orla.catalogue import option

# The running maximum before the first step: minus infinity, but finite in single precision.
_LOWEST = -1e38


@dataclass(frozen=True)
class RWKV(Architecture, name="rwkv", label="RWKV-4", order=36):
    """Time mixing of RWKV-4 (Peng et al. 2023, section 3) on u = W_in x + b_in.

    Token shift: each of r, k, v is a matrix times (mu u_t + (1 - mu) u_{t-1}), mu its own. With the
    decay w = exp(`decay`) and the bonus of the present step,

        wkv_t = (a_{t-1} + exp(bonus + k_t) v_t) / (b_{t-1} + exp(bonus + k_t)),
        a_t = exp(-w) a_{t-1} + exp(k_t) v_t,  b_t = exp(-w) b_{t-1} + exp(k_t),

    and h_t = W_o (sigmoid(r_t) wkv_t). The state is (h, u, a, b, p): a and b are stored divided by
    exp(p), p being the largest exponent so far, so that no exponential overflows (as in their
    appendix). h does not depend on p, so p is a constant to all derivatives. Without the running
    maximum p is 0: the same numbers, as long as exp(k) is finite (k < 88 in float32), and the form
    that a plain implementation of the formulas has.

    `decay` enters h_{t+1} first, by way of a_t and b_t: its immediate gradient is 0.

    Left out are channel mixing, layer norm and residual connections of an RWKV block. `W_in` and
    b_in are in the place of embeddings.
    """

    running_maximum: bool = option(True, "Whether exponents are kept from overflowing.")

    @property
    def state_size(self) -> int:
        return 5 * self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        n = self.hidden
        vectors = dict.fromkeys(("mu_r", "mu_k", "mu_v", "decay", "bonus"), (n,))
        matrices = dict.fromkeys(("W_r", "W_k", "W_v", "W_o"), (n, n))
        return {"W_in": (n, self.n_in), "b_in": (n,), **vectors, **matrices}

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; mu, decay and bonus as in the first layer of RWKV-4."""
        n = self.hidden
        unit = torch.arange(n, dtype=torch.float64)
        initial = {
            "mu_r": torch.sqrt(unit / n),
            "mu_k": unit / n,
            "mu_v": unit / n,
            "decay": -5.0 + 8.0 * (unit / max(1, n - 1)) ** 0.7,
            "bonus": math.log(0.3) + 0.5 * ((unit + 1) % 3 - 1),
        }
        return super().init(generator, dtype) | {name: p.to(dtype) for name, p in initial.items()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        _, u_before, a, b, p = state.split(self.hidden)
        u = matvec(params["W_in"], x) + params["b_in"]

        def shifted_projection(name: str) -> Tensor:
            mu = params[f"mu_{name}"]
            return matvec(params[f"W_{name}"], mu * u + (1.0 - mu) * u_before)

        r, k, v = shifted_projection("r"), shifted_projection("k"), shifted_projection("v")
        if self.running_maximum:
            p = torch.where(b == 0, _LOWEST, p).detach()
        now = params["bonus"] + k
        highest = self._common_exponent(p, now)
        past, present = torch.exp(p - highest), torch.exp(now - highest)
        wkv = (past * a + present * v) / (past * b + present)
        exponent = p - torch.exp(params["decay"])
        p = self._common_exponent(exponent, k)
        past, present = torch.exp(exponent - p), torch.exp(k - p)
        h = matvec(params["W_o"], torch.sigmoid(r) * wkv)
        return torch.cat([h, u, past * a + present * v, past * b + present, p])

    def _common_exponent(self, first: Tensor, second: Tensor) -> Tensor:
        """What both exponents are reduced by."""
        if self.running_maximum:
            return torch.maximum(first, second).detach()
        return torch.zeros_like(first)
