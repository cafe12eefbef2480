"""Vanilla recurrent network: h_t = tanh(W_ih x_t + W_hh h_{t-1} + b_h)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import LinearGates


@dataclass(frozen=True)
class RNN(LinearGates, name="rnn", label="RNN", order=10):
    """Elman's network (1990) with tanh units; 6,850 parameters at 64 units, 40 inputs."""

    units_independent: ClassVar[bool] = True

    @property
    def state_size(self) -> int:
        return self.hidden

    @property
    def gates(self) -> int:
        return self.hidden

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(preactivation)
        return h, 1.0 - h * h

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        return cache * cotangent, torch.zeros_like(cotangent)
