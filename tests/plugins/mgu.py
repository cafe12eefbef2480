"""Minimal gated unit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec


@dataclass(frozen=True)
class MGU(Architecture, name="mgu", label="MGU", order=30):
    """MGU (Zhou et al. 2016): h = (1 - f) h + f n, one gate f for both; in the order f, n."""

    @property
    def state_size(self) -> int:
        return self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            "W_ih": (2 * self.hidden, self.n_in),
            "W_hh": (2 * self.hidden, self.hidden),
            "b_h": (2 * self.hidden,),
        }

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        f_x, n_x = (matvec(params["W_ih"], x) + params["b_h"]).split(self.hidden)
        W_f, W_n = params["W_hh"].split(self.hidden)
        f = torch.sigmoid(f_x + matvec(W_f, state))
        n = torch.tanh(n_x + matvec(W_n, f * state))
        return (1.0 - f) * state + f * n
