"""Gated recurrent unit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec


@dataclass(frozen=True)
class GRU(Architecture, name="gru", label="GRU", order=30):
    """GRU (Cho et al. 2014) as torch.nn.GRUCell, gates in the order r, z, n.

    The cell's two biases of r and of z, which it only ever adds, are one here: b_h.
    """

    @property
    def state_size(self) -> int:
        return self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        gates = 3 * self.hidden
        return {
            "W_ih": (gates, self.n_in),
            "W_hh": (gates, self.hidden),
            "b_h": (gates,),
            "b_n": (self.hidden,),
        }

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        r_in, z_in, n_in = (matvec(params["W_ih"], x) + params["b_h"]).split(self.hidden)
        r_h, z_h, n_h = matvec(params["W_hh"], state).split(self.hidden)
        r, z = torch.sigmoid(r_in + r_h), torch.sigmoid(z_in + z_h)
        n = torch.tanh(n_in + r * (n_h + params["b_n"]))
        return (1.0 - z) * n + z * state
