"""Long short-term memory with input, forget, cell and output gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import LinearGates, Rows


@dataclass(frozen=True)
class LSTM(LinearGates, name="lstm", label="LSTM", order=20):
    """LSTM (Hochreiter and Schmidhuber 1997; forget gate Gers et al. 2000), as torch.nn.LSTMCell.

    The state is (h, c); gates are in the order i, f, g, o; b_h is the sum of LSTMCell's two biases.
    """

    units_independent: ClassVar[bool] = True
    # h depends on i, f, g and o, and c on i, f and g; both on c directly.
    unit_pattern: ClassVar[tuple[Rows, Rows] | None] = (
        ((1, 1, 1, 1), (1, 1, 1, 0)),
        ((0, 1), (0, 1)),
    )

    @property
    def state_size(self) -> int:
        return 2 * self.hidden

    @property
    def gates(self) -> int:
        return 4 * self.hidden

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = preactivation.split(self.hidden)
        i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
        c_before = state[self.hidden :]
        c = f * c_before + i * g
        tanh_c = torch.tanh(c)
        return torch.cat([o * tanh_c, c]), torch.cat([i, f, g, o, c_before, tanh_c])

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o, c_before, tanh_c = cache.split(self.hidden)
        on_h, on_c = cotangent[..., : self.hidden], cotangent[..., self.hidden :]
        on_c = on_c + on_h * o * (1.0 - tanh_c * tanh_c)
        on_gates = [
            on_c * g * i * (1.0 - i),
            on_c * c_before * f * (1.0 - f),
            on_c * i * (1.0 - g * g),
            on_h * tanh_c * o * (1.0 - o),
        ]
        on_c_before = on_c * f
        return torch.cat(on_gates, -1), torch.cat([torch.zeros_like(on_c_before), on_c_before], -1)
