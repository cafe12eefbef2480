"""Vanilla recurrent network whose recurrent matrix begins with a given condition number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.architectures.rnn import RNN
from orla.catalogue import option


def orthogonal(size: int, generator: torch.Generator) -> Tensor:
    """A random orthogonal matrix (size, size), float64, uniform over all (Mezzadri 2007)."""
    normal = torch.randn(size, size, generator=generator, dtype=torch.float64)
    q, r = torch.linalg.qr(normal)
    return q * torch.where(r.diagonal() < 0, -1.0, 1.0)


def power_law(size: int, condition: float, largest: float) -> Tensor:
    """Singular values s_k = s_1 k^(-p) (size,), float64, with s_1 / s_size = condition.

    Args:
        size: How many.
        condition: Of the matrix; a single value has 1, whatever is given.
        largest: s_1; 0 for the one with which the sum of squares is size / 3, the mean of that of
            a matrix (size, size) that is uniform in +-1/sqrt(size).
    """
    p = math.log(condition) / math.log(size) if size > 1 else 0.0
    values = torch.arange(1, size + 1, dtype=torch.float64) ** -p
    scale = largest or math.sqrt(size / 3.0) / float(values.square().sum().sqrt())
    return scale * values


@dataclass(frozen=True)
class SpectralRNN(RNN, name="spectral_rnn", label="RNN, cond(W_hh) {condition:g}", order=11):
    """The vanilla RNN; W_hh begins as U diag(s) V^T with cond(W_hh) = `condition`.

    The paper's "spectral-decay initialization, free training" and condition-number sweep: the
    singular values follow a power law, s_k = s_1 k^(-p), U and V are random orthogonal matrices.
    All of W_hh is learned from there on, so that it is an RNN in all but how it begins. The other
    parameters are those that an RNN of the same seed begins with. W_hh has the Frobenius norm that
    an RNN's has on average, unless `largest` gives its spectral norm.
    """

    condition: float = option(50.0, "cond(W_hh) in the beginning.", least=1)
    largest: float = option(
        0.0,
        "s_1 in the beginning, the spectral norm of W_hh; 0: that with the Frobenius norm of rnn.",
        least=0,
    )

    def init(self, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Parameters:
        """As `Architecture`; then U and V are drawn, which make W_hh."""
        params = super().init(generator, dtype)
        U, V = orthogonal(self.hidden, generator), orthogonal(self.hidden, generator)
        s = power_law(self.hidden, self.condition, self.largest)
        return params | {"W_hh": ((U * s) @ V.T).to(dtype)}
