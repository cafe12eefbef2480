"""Adam's first moment alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


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
        return state | self._correction(one * self.beta1)

    @staticmethod
    def _correction(power: Tensor) -> State:
        # For the next update, as in Adam.
        return {"beta1_power": power, "step_scale": 1.0 / (1.0 - power)}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        step = -lr * state["step_scale"]
        for name, g in gradients.items():
            m = after[f"m.{name}"] = self.beta1 * state[f"m.{name}"] + (1.0 - self.beta1) * g
            updates[name] = step * m
        return updates, after | self._correction(state["beta1_power"] * self.beta1)
