"""Sign descent with momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import Optimizer, State


@dataclass(frozen=True)
class SignSGDMomentum(
    Optimizer,
    name="signsgd-momentum",
    label="signSGD + momentum",
    order=52,
    mark=Mark("#800015", "P", (0, (4, 1.2))),
    grid={"step": [0.00003, 0.0001, 0.0003], "window": [0.0001, 0.0003, 0.001]},
):
    """Signum (Bernstein et al. 2018, algorithm 2): the sign of the momentum, not momentum of signs.

    m = beta m + (1 - beta) g; update = -lr sign(m). The buffer beta m + g of other accounts is m
    over 1 - beta, which has the same sign.

    Rates: half a decade below Adam's. The mean over 1 / (1 - beta) gradients is less noisy than
    one of them, so that more of its signs agree from update to update.
    """

    elementwise: ClassVar[bool] = True
    beta: float = option(0.9, "Decay of the mean gradient.", least=0)

    def init(self, params: Parameters) -> State:
        return {f"m.{name}": torch.zeros_like(p) for name, p in params.items()}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        after, updates = dict(state), {}
        for name, g in gradients.items():
            m = after[f"m.{name}"] = self.beta * state[f"m.{name}"] + (1.0 - self.beta) * g
            updates[name] = -lr * torch.sign(m)
        return updates, after
