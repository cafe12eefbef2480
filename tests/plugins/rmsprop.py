"""RMSprop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


@dataclass(frozen=True)
class RMSprop(
    Optimizer,
    name="rmsprop",
    label="RMSprop",
    order=35,
    mark=Mark("#2f7d4f", "D", (0, (2, 1))),
    grid={"step": [0.0003, 0.001, 0.003], "window": [0.001, 0.003, 0.01]},
):
    """RMSprop (Hinton 2012) as torch.optim.RMSprop, eps outside the root."""

    elementwise: ClassVar[bool] = True
    alpha: float = option(0.99, "Decay of the mean squared gradient.", least=0)
    eps: float = option(1e-8, "Added to the root of the mean squared gradient.", least=0)

    def init(self, params: Parameters) -> State:
        return {f"v.{name}": torch.zeros_like(p) for name, p in params.items()}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        for name, g in gradients.items():
            v = after[f"v.{name}"] = self.alpha * state[f"v.{name}"] + (1.0 - self.alpha) * g * g
            updates[name] = -lr * g / (torch.sqrt(v) + self.eps)
        return updates, after
