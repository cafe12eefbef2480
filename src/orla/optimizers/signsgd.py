"""Sign descent."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark
from orla.optimizers.base import Optimizer, State


class SignSGD(
    Optimizer,
    name="signsgd",
    label="signSGD",
    order=50,
    mark=Mark("#e62e2e", "X", (0, (1, 2))),
    grid={"step": [0.0001, 0.0003, 0.001], "window": [0.0003, 0.001, 0.003]},
    scale_free=True,
):
    """signSGD (Bernstein et al. 2018, algorithm 1): update = -lr sign(g), 0 where g is 0.

    Rates: Adam's. Each number moves by lr, as in Adam's first update.
    """

    elementwise: ClassVar[bool] = True

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: -lr * torch.sign(g) for name, g in gradients.items()}, state
