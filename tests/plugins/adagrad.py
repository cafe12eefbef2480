"""Adagrad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


@dataclass(frozen=True)
class Adagrad(
    Optimizer,
    name="adagrad",
    label="Adagrad",
    order=36,
    mark=Mark("#2f7d4f", "d", (0, (5, 3))),
    grid={"step": [0.01, 0.03, 0.1, 0.3, 1.0], "window": [0.01, 0.03, 0.1, 0.3]},
):
    """Adagrad (Duchi et al. 2011) as torch.optim.Adagrad, eps outside the root."""

    elementwise: ClassVar[bool] = True
    initial: float = option(0.0, "What the sum of squared gradients starts from.", least=0)
    eps: float = option(1e-10, "Added to the root of the sum of squared gradients.", least=0)

    def init(self, params: Parameters) -> State:
        return {f"v.{name}": torch.full_like(p, self.initial) for name, p in params.items()}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        for name, g in gradients.items():
            v = after[f"v.{name}"] = state[f"v.{name}"] + g * g
            updates[name] = -lr * g / (torch.sqrt(v) + self.eps)
        return updates, after
