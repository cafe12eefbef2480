"""Continuous-time recurrent network, by Euler's method."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.rnn import RNN
from orla.catalogue import option


@dataclass(frozen=True)
class CTRNN(RNN, name="ctrnn", label="CTRNN", order=15):
    """CTRNN (Funahashi and Nakamura 1993), in its form for rates, by steps of Euler's method.

    tau dh/dt = -h + tanh(W_ih x + W_hh h + b_h) in steps of length dt gives
    h_t = (1 - a) h_{t-1} + a tanh(W_ih x_t + W_hh h_{t-1} + b_h) with a = dt/tau; a = 1 is the
    vanilla RNN. (Funahashi and Nakamura have W_hh outside of the nonlinearity; Miller and Fumarola
    2012 show both forms equivalent.) All units share one time constant, which is not learned.
    """

    dt_over_tau: float = option(
        0.5, "a = dt/tau, a step's length over the time constant.", above=0, most=1
    )

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        target = torch.tanh(preactivation)
        h = (1.0 - self.dt_over_tau) * state + self.dt_over_tau * target
        return h, self.dt_over_tau * (1.0 - target * target)

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        return cache * cotangent, (1.0 - self.dt_over_tau) * cotangent
