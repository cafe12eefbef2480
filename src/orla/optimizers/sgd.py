"""Stochastic gradient descent."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.optimizers.base import Optimizer, State


class SGD(Optimizer):
    """Plain gradient descent: update = -lr g; no momentum."""

    elementwise: ClassVar[bool] = True

    def init(self, params: Parameters) -> State:
        return {}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: -lr * g for name, g in gradients.items()}, state
