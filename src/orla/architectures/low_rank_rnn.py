"""Vanilla recurrent network whose recurrent matrix has a low rank."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Architecture, Parameters, Pattern, matvec
from orla.catalogue import option
from orla.errors import OrlaError


@dataclass(frozen=True)
class LowRankRNN(Architecture, name="low_rank_rnn", label="RNN of rank {rank}", order=12):
    """h_t = tanh(W_ih x_t + U V^T h_{t-1} + b_h) with U_hh and V_hh (hidden, rank) learned.

    The paper's "low-rank W_hh" (appendix on isotropy as a training equilibrium), of rank 8, 16 and
    32 at 64 units; in form the networks of Mastrogiuseppe and Ostojic (2018) without their random
    part.

    U and V begin uniform in +-(3 / (hidden rank))^(1/4). The numbers of U V^T then have the
    variance 1 / (3 hidden) of the vanilla RNN's W_hh, and its eigenvalues the same radius.

    It is no `LinearGates`: the gradient of U and V is no outer product with (x, h, 1).
    """

    rank: int = option(8, "Columns of U and V, the largest rank of W_hh.", least=1)

    def __post_init__(self) -> None:
        if self.rank > self.hidden:
            raise OrlaError(
                f'architecture {self.part.name}: "rank" is {self.rank} and W_hh has {self.hidden}'
                ' rows; give at most "hidden"'
            )

    @property
    def state_size(self) -> int:
        return self.hidden

    def recurrent_shapes(self) -> dict[str, tuple[int, ...]]:
        return {
            "W_ih": (self.hidden, self.n_in),
            "U_hh": (self.hidden, self.rank),
            "V_hh": (self.hidden, self.rank),
            "b_h": (self.hidden,),
        }

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; U and V in a range of their own."""
        # Drawn within 1/sqrt(hidden).
        wider = self.hidden**0.5 * (3.0 / (self.hidden * self.rank)) ** 0.25
        params = super().init(generator, torch.float64)
        params |= {name: wider * params[name] for name in ("U_hh", "V_hh")}
        return {name: p.to(dtype) for name, p in params.items()}

    def step(self, params: Parameters, state: Tensor, x: Tensor) -> Tensor:
        within = matvec(params["V_hh"].T, state)  # (rank,)
        recurrent = matvec(params["U_hh"], within)
        return torch.tanh(matvec(params["W_ih"], x) + recurrent + params["b_h"])

    def pattern(self) -> Pattern:
        identity = torch.eye(self.hidden, dtype=torch.bool)
        every = torch.ones_like(identity)
        rows = identity[:, :, None]
        # V^T h is in reach of every unit.
        return Pattern(
            every, {"W_ih": rows, "U_hh": rows, "V_hh": every[:, :, None], "b_h": identity}
        )
