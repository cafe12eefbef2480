"""Adam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


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
        return state | self._corrections(one * self.beta1, one * self.beta2)

    def _corrections(self, power1: Tensor, power2: Tensor) -> State:
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
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        step, root_scale = -lr * state["step_scale"], state["root_scale"]
        for name, g in gradients.items():
            m = state[f"m.{name}"] + (1.0 - self.beta1) * (g - state[f"m.{name}"])
            v = self.beta2 * state[f"v.{name}"] + (1.0 - self.beta2) * g * g
            updates[name] = step * m / (torch.sqrt(v) * root_scale + self.eps)
            after[f"m.{name}"], after[f"v.{name}"] = m, v
        powers = state["beta1_power"] * self.beta1, state["beta2_power"] * self.beta2
        return updates, after | self._corrections(*powers)
