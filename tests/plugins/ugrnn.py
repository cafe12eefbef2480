"""Update gate network, by its pre-activations: with structured derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import LinearGates


@dataclass(frozen=True)
class UGRNN(LinearGates, name="ugrnn", label="UGRNN", order=31):
    """UGRNN (Collins et al. 2017): h = g h + (1 - g) c, pre-activations in the order g, c."""

    units_independent: ClassVar[bool] = True

    @property
    def state_size(self) -> int:
        return self.hidden

    @property
    def preactivation_size(self) -> int:
        return 2 * self.hidden

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        g, c = preactivation.split(self.hidden)
        g, c = torch.sigmoid(g), torch.tanh(c)
        return g * state + (1.0 - g) * c, torch.cat([g, c, state])

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        g, c, before = cache.split(self.hidden)
        on_g = cotangent * (before - c) * g * (1.0 - g)
        on_c = cotangent * (1.0 - g) * (1.0 - c * c)
        return torch.cat([on_g, on_c], -1), cotangent * g
