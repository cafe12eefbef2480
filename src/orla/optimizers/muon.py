"""Muon."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.adam import Adam
from orla.optimizers.base import Optimizer, State

# Jordan's coefficients: with the steepest slope at zero, singular values end between 0.7 and 1.2.
_A, _B, _C = 3.4445, -4.7750, 2.0315


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b, (rows, inner) x (inner, columns) -> (rows, columns).

    Written as a sum for the reasons that `matvec` is.
    """
    return (a[:, :, None] * b[None, :, :]).sum(1)


@dataclass(frozen=True)
class Muon(
    Optimizer,
    name="muon",
    label="Muon",
    order=56,
    mark=Mark("#400080", "p", (0, (8, 1.5, 2, 1.5))),
    grid={"step": [0.0003, 0.001, 0.003], "window": [0.001, 0.003, 0.01]},
):
    """Muon (Jordan 2024) for matrices, Adam for all else, both at one rate; no weight decay.

    As torch.optim.Muon with its default options, in the precision of the parameters where that
    computes in bfloat16. For each matrix (rows, columns):

    m = momentum m + (1 - momentum) g; u = momentum m + (1 - momentum) g (Nesterov); X = u over its
    Frobenius norm; five times X = a X + X (b X'X + c (X'X)^2) (Newton-Schulz), which brings all
    singular values near 1; update = -lr sqrt(max(1, rows / columns)) X.

    The readout is a matrix too and is treated as one; Jordan keeps it to Adam in language models.

    Rates: half a decade above Adam's. Numbers of a matrix of 64 x 64 move by lr / 8 in root mean
    square, all others by up to lr, as with Adam; both have this one rate.
    """

    momentum: float = option(0.95, "Decay of the mean gradient of a matrix.", least=0)
    steps: int = option(5, "Newton-Schulz steps.", least=1)
    eps: float = option(1e-7, "Smallest norm that a mean gradient is divided by.", above=0)

    def init(self, params: Parameters) -> State:
        vectors = {name: p for name, p in params.items() if p.dim() != 2}
        matrices = {name: p for name, p in params.items() if p.dim() == 2}
        state = Adam().init(vectors) if vectors else {}
        return state | {f"m.{name}": torch.zeros_like(p) for name, p in matrices.items()}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        vectors = {name: g for name, g in gradients.items() if g.dim() != 2}
        updates, after = Adam().update(vectors, state, params, lr) if vectors else ({}, dict(state))
        for name, g in gradients.items():
            if g.dim() == 2:
                m = state[f"m.{name}"] + (1.0 - self.momentum) * (g - state[f"m.{name}"])
                ahead = g + self.momentum * (m - g)
                scale = math.sqrt(max(1.0, g.shape[0] / g.shape[1]))
                updates[name] = (-lr * scale) * self._orthogonalize(ahead)
                after[f"m.{name}"] = m
        return updates, after

    def _orthogonalize(self, matrix: Tensor) -> Tensor:
        """The matrix with its singular values brought near 1 (rows, columns)."""
        # As tall as wide or taller: the smaller Gram matrix, and products that go along memory.
        wide = matrix.shape[0] < matrix.shape[1]
        x = matrix.T if wide else matrix
        x = x / torch.clamp(torch.sqrt((x * x).sum()), min=self.eps)
        for _ in range(self.steps):
            gram = _product(x.T, x)
            x = _A * x + _product(x, _B * gram + _C * _product(gram, gram))
        return x.T if wide else x
