"""Gradient descent, and descents by the signs of gradients."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Mark, option
from orla.optimizers.base import OneMoment, Optimizer, State, UpdatesAndState


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
    ) -> UpdatesAndState:
        return {name: -lr * g for name, g in gradients.items()}, state


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
    ) -> UpdatesAndState:
        return {name: -lr * torch.sign(g) for name, g in gradients.items()}, state


@dataclass(frozen=True)
class SignSGDMomentum(
    OneMoment,
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

    beta: float = option(0.9, "Decay of the mean gradient.", least=0)

    def update_parameter(self, g: Tensor, moment: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        moment = self.beta * moment + (1.0 - self.beta) * g
        return -lr * torch.sign(moment), moment


@dataclass(frozen=True)
class Lion(
    OneMoment,
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

    beta1: float = option(0.9, "Share of the mean gradient in the update.", least=0)
    beta2: float = option(0.99, "Decay of the mean gradient.", least=0)

    def update_parameter(self, g: Tensor, moment: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        update = -lr * torch.sign(self.beta1 * moment + (1.0 - self.beta1) * g)
        return update, self.beta2 * moment + (1.0 - self.beta2) * g
