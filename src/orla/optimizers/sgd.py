"""Stochastic gradient descent."""

from __future__ import annotations

from torch import Tensor

from orla.architectures.base import Parameters
from orla.optimizers.base import Optimizer, State


class SGD(Optimizer):
    """Plain gradient descent: update = -lr g; no momentum."""

    def init(self, params: Parameters) -> State:
        return {}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: -lr * g for name, g in gradients.items()}, state
