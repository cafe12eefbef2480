"""Stochastic gradient descent."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark
from orla.optimizers.base import Optimizer, State


class SGD(
    Optimizer,
    name="sgd",
    label="SGD",
    order=10,
    mark=Mark("#14213d", "o", "-"),
    grid={"step": [0.001, 0.003, 0.01], "window": [0.00003, 0.0001, 0.0003]},
):
    """Plain gradient descent: update = -lr g; no momentum."""

    elementwise: ClassVar[bool] = True

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: -lr * g for name, g in gradients.items()}, state
