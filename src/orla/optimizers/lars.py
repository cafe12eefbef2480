"""Optimizers that scale gradients by norms: LARS and gradient normalization."""

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark
from orla.optimizers.base import Optimizer, State, UpdatesAndState


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
    ) -> UpdatesAndState:
        return {
            name: -lr * self._trust_ratio(params[name], g) * g for name, g in gradients.items()
        }, state

    @staticmethod
    def _trust_ratio(weight: Tensor, gradient: Tensor) -> Tensor:
        """||w|| / ||g||; 1 where either norm is 0."""
        weight_norm = torch.sqrt((weight * weight).sum())
        gradient_norm = torch.sqrt((gradient * gradient).sum())
        nonzero = (weight_norm > 0) & (gradient_norm > 0)
        # The divisor is replaced too, so that no branch divides by zero.
        ratio = weight_norm / torch.where(nonzero, gradient_norm, torch.ones_like(gradient_norm))
        return torch.where(nonzero, ratio, torch.ones_like(ratio))


class GradNorm(
    Optimizer,
    name="gradnorm",
    label="Gradient normalization",
    order=45,
    mark=Mark("#b29374", ">", (0, (7, 2))),
    grid={"step": [0.01, 0.03, 0.1], "window": [0.03, 0.1, 0.3]},
    scale_free=True,
):
    """update = -lr g / ||g||, the norm over all parameters together; 0 where the gradient is 0.

    Rates: two decades above Adam's. The whole update has the length lr, where Adam's has up to lr
    a number, so sqrt(6850) = 83 times that for a vanilla RNN of 64 units.
    """

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        # Divided by the largest number first, so that no square overflows or vanishes.
        largest = torch.stack([g.abs().amax() for g in gradients.values()]).amax()
        divisor = torch.where(largest > 0, largest, torch.ones_like(largest))
        directions = {name: g / divisor for name, g in gradients.items()}
        norm = torch.sqrt(torch.stack([(s * s).sum() for s in directions.values()]).sum())
        # The norm is 1 or more unless all are 0.
        step = -lr / torch.clamp(norm, min=1.0)
        return {name: step * s for name, s in directions.items()}, state
