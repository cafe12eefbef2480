"""Layer-wise adaptive rate scaling."""

from __future__ import annotations

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark
from orla.optimizers.base import Optimizer, State


class LARS(
    Optimizer,
    name="lars",
    label="LARS",
    order=40,
    mark=Mark("#e6a000", "D", (0, (1, 1))),
    grid={"step": [0.0003, 0.001, 0.003], "window": [0.003, 0.01, 0.03]},
    scale_free=True,
):
    """LARS (You, Gitman and Ginsburg 2017) per tensor: update = -lr ||w|| / ||g|| g, trust 1.

    No momentum. Where either norm is 0 the step is the plain -lr g, so that a bias that starts at
    zero learns.
    """

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {
            name: -lr * self._trust(params[name], g) * g for name, g in gradients.items()
        }, state

    @staticmethod
    def _trust(weight: Tensor, gradient: Tensor) -> Tensor:
        weight_norm = torch.sqrt((weight * weight).sum())
        gradient_norm = torch.sqrt((gradient * gradient).sum())
        nonzero = (weight_norm > 0) & (gradient_norm > 0)
        # The divisor is replaced too, so that no branch divides by zero.
        ratio = weight_norm / torch.where(nonzero, gradient_norm, torch.ones_like(gradient_norm))
        return torch.where(nonzero, ratio, torch.ones_like(ratio))
