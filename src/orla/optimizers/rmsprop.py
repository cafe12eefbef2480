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
