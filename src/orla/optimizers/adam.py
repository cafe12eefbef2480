"""Optimizers that scale by moments: Adam, its first moment alone, RMSprop and Muon."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import OneMoment, Optimizer, State, UpdatesAndState


@dataclass(frozen=True)
class Adam(
    Optimizer,
    name="adam",
    label="Adam",
    order=30,
    mark=Mark("#2a8fbd", "^", (0, (3, 1, 1, 1))),
    grid={"step": [0.0001, 0.0003, 0.001], "window": [0.0003, 0.001, 0.003]},
):
    """Adam with bias correction (Kingma and Ba 2015, algorithm 1), eps outside the root.

    AdamW (Loshchilov and Hutter 2019) without weight decay is this. With beta1 = 0 it is the
    paper's "β2-only"; its "β1-only" is adam-beta1.
    """

    elementwise: ClassVar[bool] = True
    beta1: float = option(0.9, "Decay of the mean gradient.", least=0)
    beta2: float = option(0.999, "Decay of the mean squared gradient.", least=0)
    eps: float = option(1e-8, "Added to the root of the mean squared gradient.", least=0)

    def init(self, params: Parameters) -> State:
        one = next(iter(params.values())).new_ones(())
        state = {f"m.{name}": torch.zeros_like(p) for name, p in params.items()}
        state |= {f"v.{name}": torch.zeros_like(p) for name, p in params.items()}
        return state | self._bias_corrections(one * self.beta1, one * self.beta2)

    def _bias_corrections(self, power1: Tensor, power2: Tensor) -> State:
        """State entries of the powers of both decays, and factors that undo the bias of zeros."""
        # Computed once for the next update: inside the compiled loops over the parameters these
        # scalars would be recomputed for every number.
        return {
            "beta1_power": power1,
            "beta2_power": power2,
            "step_scale": 1.0 / (1.0 - power1),
            "root_scale": 1.0 / torch.sqrt(1.0 - power2),
        }

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        new_state, updates = dict(state), {}
        step, root_scale = -lr * state["step_scale"], state["root_scale"]
        for name, g in gradients.items():
            m = state[f"m.{name}"] + (1.0 - self.beta1) * (g - state[f"m.{name}"])
            v = self.beta2 * state[f"v.{name}"] + (1.0 - self.beta2) * g * g
            updates[name] = step * m / (torch.sqrt(v) * root_scale + self.eps)
            new_state[f"m.{name}"], new_state[f"v.{name}"] = m, v
        powers = state["beta1_power"] * self.beta1, state["beta2_power"] * self.beta2
        return updates, new_state | self._bias_corrections(*powers)


@dataclass(frozen=True)
class AdamBeta1(
    Optimizer,
    name="adam-beta1",
    label="Adam, β1 only",
    order=32,
    mark=Mark("#2d4880", "<", (0, (3, 1, 1, 1, 1, 1))),
    grid={"step": [0.001, 0.003, 0.01], "window": [0.00003, 0.0001, 0.0003]},
):
    """Adam without its second moment: the bias-corrected mean gradient, not scaled.

    m = beta1 m + (1 - beta1) g; update = -lr m / (1 - beta1^t). This is the paper's "β1-only". It
    is not Adam with beta2 = 0, which divides by |g|: the paper speaks of what contains β2 as of
    what scales gradients. "β2-only" is Adam with beta1 = 0.

    Rates: those of SGD. Over many updates a mean gradient moves the weights as far.
    """

    elementwise: ClassVar[bool] = True
    beta1: float = option(0.9, "Decay of the mean gradient.", least=0)

    def init(self, params: Parameters) -> State:
        one = next(iter(params.values())).new_ones(())
        state = {f"m.{name}": torch.zeros_like(p) for name, p in params.items()}
        return state | self._bias_correction(one * self.beta1)

    @staticmethod
    def _bias_correction(power: Tensor) -> State:
        """State entries of the power of the decay, and the factor that undoes the bias of zeros."""
        # For the next update, as in Adam.
        return {"beta1_power": power, "step_scale": 1.0 / (1.0 - power)}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        new_state, updates = dict(state), {}
        step = -lr * state["step_scale"]
        for name, g in gradients.items():
            m = new_state[f"m.{name}"] = self.beta1 * state[f"m.{name}"] + (1.0 - self.beta1) * g
            updates[name] = step * m
        return updates, new_state | self._bias_correction(state["beta1_power"] * self.beta1)


@dataclass(frozen=True)
class RMSprop(
    OneMoment,
    name="rmsprop",
    label="RMSprop",
    order=34,
    mark=Mark("#66cccc", "v", (0, (2, 1))),
    grid={"step": [0.0001, 0.0003, 0.001], "window": [0.0003, 0.001, 0.003]},
):
    """RMSprop (Hinton 2012), eps outside the root, neither centered nor with momentum.

    v = alpha v + (1 - alpha) g^2; update = -lr g / (sqrt(v) + eps). v starts at zero and is not
    corrected for it, so that the first update is 10 lr sign(g).

    Rates: Adam's. Over many updates a mean gradient moves the weights as far as with Adam, whose
    momentum delays the gradient and does not enlarge it.
    """

    moment: ClassVar[str] = "v"
    alpha: float = option(0.99, "Decay of the mean squared gradient.", least=0)
    eps: float = option(1e-8, "Added to the root of the mean squared gradient.", least=0)

    def update_parameter(self, g: Tensor, moment: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        moment = self.alpha * moment + (1.0 - self.alpha) * g * g
        return -lr * g / (torch.sqrt(moment) + self.eps), moment


# Jordan's coefficients: with the steepest slope at zero, singular values end between 0.7 and 1.2.
_A, _B, _C = 3.4445, -4.7750, 2.0315


def _matrix_product(a: Tensor, b: Tensor) -> Tensor:
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
    ) -> UpdatesAndState:
        vectors = {name: g for name, g in gradients.items() if g.dim() != 2}
        updates, new = Adam().update(vectors, state, params, lr) if vectors else ({}, dict(state))
        for name, g in gradients.items():
            if g.dim() == 2:
                m = state[f"m.{name}"] + (1.0 - self.momentum) * (g - state[f"m.{name}"])
                ahead = g + self.momentum * (m - g)
                scale = math.sqrt(max(1.0, g.shape[0] / g.shape[1]))
                updates[name] = (-lr * scale) * self._orthogonalize(ahead)
                new[f"m.{name}"] = m
        return updates, new

    def _orthogonalize(self, matrix: Tensor) -> Tensor:
        """The matrix with all singular values near 1, by Newton-Schulz steps."""
        # As tall as wide or taller: the smaller Gram matrix, and products that go along memory.
        wide = matrix.shape[0] < matrix.shape[1]
        x = matrix.T if wide else matrix
        x = x / torch.clamp(torch.sqrt((x * x).sum()), min=self.eps)
        for _ in range(self.steps):
            gram = _matrix_product(x.T, x)
            x = _A * x + _matrix_product(x, _B * gram + _C * _matrix_product(gram, gram))
        return x.T if wide else x
