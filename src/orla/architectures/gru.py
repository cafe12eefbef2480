"""Gated recurrent unit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, matvec


@dataclass(frozen=True)
class GRU(Architecture, name="gru", label="GRU", order=25):
    """GRU (Cho et al. 2014), as torch.nn.GRUCell.

    h_t = (1 - z) n + z h_{t-1}, with r and z sigmoids of W_ih x + W_hh h + b_h, and
    n = tanh(W_in x + b_in + r (W_hn h + b_n)). Gates are in the order r, z, n. Of GRUCell's two
    biases, those of r and of z are one here, because the cell only ever adds them.

    It is no `LinearGates`: r multiplies W_hn h + b_n and not W_in x, so the gradient of W_in and
    that of W_hn are outer products with different cotangents, and `LinearGates` has one for both.
    With a fourth block of gates it would learn weights that the network does not have. Derivatives
    are automatic.
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
        r_x, z_x, n_x = (matvec(params["W_ih"], x) + params["b_h"]).split(self.hidden)
        r_h, z_h, n_h = matvec(params["W_hh"], state).split(self.hidden)
        r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
        n = torch.tanh(n_x + r * (n_h + params["b_n"]))
        return (1.0 - z) * n + z * state
