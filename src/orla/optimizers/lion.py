"""Lion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


@dataclass(frozen=True)
class Lion(
    Optimizer,
    name="lion",
    label="Lion",
    order=54,
    mark=Mark("#8a47cc", "*", (0, (6, 1, 1, 1))),
    grid={"step": [0.00003, 0.0001, 0.0003], "window": [0.0001, 0.0003, 0.001]},
):
    """Lion (Chen et al. 2023, algorithm 2) without weight decay: the sign of a mean gradient.

    update = -lr sign(beta1 m + (1 - beta1) g), with m as it was; then m = beta2 m + (1 - beta2) g.

    Rates: half a decade below Adam's; Chen et al. advise 3 to 10 times smaller ones.
    """

    elementwise: ClassVar[bool] = True
    beta1: float = option(0.9, "Share of the mean gradient in the update.", least=0)
    beta2: float = option(0.99, "Decay of the mean gradient.", least=0)

    def init(self, params: Parameters) -> State:
        return {f"m.{name}": torch.zeros_like(p) for name, p in params.items()}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        for name, g in gradients.items():
            m = state[f"m.{name}"]
            updates[name] = -lr * torch.sign(self.beta1 * m + (1.0 - self.beta1) * g)
            after[f"m.{name}"] = self.beta2 * m + (1.0 - self.beta2) * g
        return updates, after
