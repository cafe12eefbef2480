"""The base class of networks that keep outer products: S_n = gamma S_{n-1} + v_n k_n^T."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec
from orla.catalogue import option


@dataclass(frozen=True)
class Retention(Architecture):
    """Heads j = 0, 1, ... with S_n = gamma_j S_{n-1} + v_n k_n^T (values, keys) each.

    v = W_v u and k = W_k u / sqrt(keys), with u = W_in x + b_in and gamma_j = 1 - 2^(-5-j). The
    state is (h, S of each head).

    Where `only_fades`, exact RTRL takes for granted that the previous state enters a step as
    gamma_j S_{n-1} alone, and that S depends on no other parameters than W_in, b_in, W_k and W_v.
    A test checks it for every architecture of this kind.
    """

    heads: int = option(1, "Heads; `hidden` is a multiple of them.", least=1)
    keys: int = option(0, "Keys a head; 0 for as many as its values, hidden / heads.", least=0)

    @property
    def only_fades(self) -> bool:
        """Whether S is only multiplied by gamma from one step to the next."""
        return True

    @property
    def value_size(self) -> int:
        """Values a head."""
        return self.hidden // self.heads

    @property
    def key_size(self) -> int:
        """Keys a head."""
        return self.keys or self.value_size

    @property
    def state_size(self) -> int:
        return self.hidden * (1 + self.key_size)

    def memories(self, state: Tensor) -> Tensor:
        """S of each head (..., heads, values, keys), of a state (..., state_size)."""
        return state[..., self.hidden :].unflatten(-1, (self.heads, self.value_size, self.key_size))

    def key_value(self, params: Parameters, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u (hidden,), and v (heads, values) and k (heads, keys) of each head, of an input."""
        u = matvec(params["W_in"], x) + params["b_in"]
        v, k = (matvec(params[name], u).view(self.heads, -1) for name in ("W_v", "W_k"))
        return u, v, k / math.sqrt(self.key_size)

    def gamma(self, like: Tensor) -> Tensor:
        """The decay of each head (heads,)."""
        head = torch.arange(self.heads, dtype=like.dtype, device=like.device)
        return 1.0 - torch.exp2(-5.0 - head)
