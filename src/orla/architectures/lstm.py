"""Long short-term memory: the classic cell, and the scalar one with exponential gates."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import LinearGates, Rows
from orla.catalogue import option


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
    def preactivation_size(self) -> int:
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


SIGMOID, EXPONENTIAL = "sigmoid", "exponential"


@dataclass(frozen=True)
class SLSTM(LinearGates, name="slstm", label="sLSTM", order=34):
    """sLSTM (Beck et al. 2024, eqs. 8 to 17), one head: W_hh is dense.

    The state is (h, c, n, m), cell, normaliser and stabiliser; gates are in the order i, f, z, o.

    c = f c + i z, n = f n + i, h = o c / n with i = exp(i~) and f = sigmoid(f~) or exp(f~). c and n
    are stored divided by exp(m), with m = max(log f + m, i~), so that no exponential overflows. A
    state with n = 0 has no past: there m = i~, as in the authors' code, and n is never below 1. h
    does not depend on m, so m is a constant to all derivatives.

    Left out are the heads, causal convolution, group norm and projections of the xLSTM block.
    """

    units_independent: ClassVar[bool] = True

    forget: str = option(SIGMOID, "The forget gate's function.", choices=[SIGMOID, EXPONENTIAL])

    @property
    def state_size(self) -> int:
        return 4 * self.hidden

    @property
    def preactivation_size(self) -> int:
        return 4 * self.hidden

    def activate(self, preactivation: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        log_i, f, z, o = preactivation.split(self.hidden)
        _, c_before, n_before, m_before = state.split(self.hidden)
        if self.forget == SIGMOID:
            log_f, slope = torch.nn.functional.logsigmoid(f), torch.sigmoid(-f)
        else:
            log_f, slope = f, torch.ones_like(f)
        log_past = torch.where(n_before == 0, log_i, log_f + m_before.detach())
        m = torch.maximum(log_past, log_i).detach()
        i, f, z, o = torch.exp(log_i - m), torch.exp(log_past - m), torch.tanh(z), torch.sigmoid(o)
        c = f * c_before + i * z
        n = f * n_before + i
        cache = torch.cat([i, f, slope, z, o, c_before, n_before, c / n, n])
        return torch.cat([o * c / n, c, n, m]), cache

    def pull(self, cache: Tensor, cotangent: Tensor) -> tuple[Tensor, Tensor]:
        i, f, slope, z, o, c_before, n_before, mean, n = cache.split(self.hidden)
        on_h, on_c, on_n, _ = cotangent.split(self.hidden, -1)
        on_c = on_c + on_h * o / n
        on_n = on_n - on_h * o * mean / n
        on_gates = [
            (on_c * z + on_n) * i,
            (on_c * c_before + on_n * n_before) * f * slope,
            on_c * i * (1.0 - z * z),
            on_h * mean * o * (1.0 - o),
        ]
        none = torch.zeros_like(on_h)
        return torch.cat(on_gates, -1), torch.cat([none, on_c * f, on_n * f, none], -1)
