"""A leaky network, and the local rules' gradients in NumPy, from the papers' equations."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from orla.architectures.base import LinearGates


@dataclass(frozen=True)
class Leaky(LinearGates):
    """h_t = (1 - a) h_{t-1} + a tanh(u_t), a = `rate`."""

    units_independent: ClassVar[bool] = True
    rate: float = 0.3

    @property
    def state_size(self):
        return self.hidden

    gates = state_size

    def activate(self, preactivation, state):
        phi = torch.tanh(preactivation)
        return (1.0 - self.rate) * state + self.rate * phi, 1.0 - phi * phi

    def pull(self, cache, cotangent):
        return self.rate * cache * cotangent, (1.0 - self.rate) * cotangent


def in_numpy(steps):
    """Parameters by step as NumPy arrays."""
    return [{name: p.numpy() for name, p in step.items()} for step in steps]


def parted(gradient, n_in):
    """A gradient of (x, h, 1) by parameter, as tensors."""
    by_name = {
        "W_ih": gradient[:, :n_in],
        "W_hh": gradient[:, n_in:-1],
        "b_h": gradient[:, -1],
    }
    return {name: torch.from_numpy(g.copy()) for name, g in by_name.items()}


def readout(params, h, y):
    """dL/dy of the mean squared error, and the readout's gradient."""
    error = params["W_out"] @ h + params["b_out"] - y
    on_outputs = 2.0 / len(y) * error
    gradient = {"W_out": np.outer(on_outputs, h), "b_out": on_outputs}
    return on_outputs, {name: torch.from_numpy(g) for name, g in gradient.items()}


def rflo(params_by_step, X, Y, *, rate, leak, B=None):
    """Murray (2019): p <- (1 - leak) p + leak phi'(u) (x, h, 1), gradient (B dL/dy) p.

    `rate` is the network's own leak; B is W_out^T where none is given.
    """
    X, Y, n = X.numpy(), Y.numpy(), len(params_by_step[0]["b_h"])
    h, p, answers = np.zeros(n), 0.0, []
    for params, x, y in zip(in_numpy(params_by_step), X, Y, strict=True):
        u = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
        seen = np.concatenate([x, h, [1.0]])
        p = (1.0 - leak) * p + leak * np.outer(1.0 - np.tanh(u) ** 2, seen)
        h = (1.0 - rate) * h + rate * np.tanh(u)
        on_outputs, of_readout = readout(params, h, y)
        signal = (params["W_out"].T if B is None else B) @ on_outputs
        answers.append(parted(signal[:, None] * p, len(x)) | of_readout)
    return answers


def lstm_eprop(params_by_step, X, Y, *, B=None, kept=1.0):
    """Bellec et al. (2020), LSTM: eps = f eps + dc/dtheta, e = o (1 - tanh(c)^2) eps + dh/dtheta.

    Anything but 1 for `kept` makes it wrong on purpose.
    """
    X, Y, n = X.numpy(), Y.numpy(), len(params_by_step[0]["b_h"]) // 4
    h, c, eps, answers = np.zeros(n), np.zeros(n), 0.0, []
    for params, x, y in zip(in_numpy(params_by_step), X, Y, strict=True):
        a = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
        seen = np.concatenate([x, h, [1.0]])
        i, f, o = (1.0 / (1.0 + np.exp(-a[k * n : (k + 1) * n])) for k in (0, 1, 3))
        g, c_before = np.tanh(a[2 * n : 3 * n]), c
        by_gates = [i * (1 - i) * g, f * (1 - f) * c_before, i * (1 - g**2), np.zeros(n)]
        eps = kept * np.tile(f, 4)[:, None] * eps + np.outer(np.concatenate(by_gates), seen)
        c = f * c_before + i * g
        h = o * np.tanh(c)
        on_h = np.concatenate([np.zeros(3 * n), o * (1 - o) * np.tanh(c)])
        e = np.tile(o * (1 - np.tanh(c) ** 2), 4)[:, None] * eps + np.outer(on_h, seen)
        on_outputs, of_readout = readout(params, h, y)
        signal = (params["W_out"].T if B is None else B) @ on_outputs
        answers.append(parted(np.tile(signal, 4)[:, None] * e, len(x)) | of_readout)
    return answers
