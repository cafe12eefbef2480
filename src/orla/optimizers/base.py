"""The base class of optimizers, written for one model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Part

State = dict[str, Tensor]
UpdatesAndState = tuple[Parameters, State]


class Optimizer(Part, ABC):
    """Computes from a gradient the update that is added to the parameters. No weight decay.

    elementwise: Whether the update of each number depends on its own gradient and state alone. A
        wrong value makes the loop slower and changes results by rounding alone.

    Class statement:
        grid: Half-decade learning rates by cadence, for configs that give none: {"step": [...],
            "window": [...]}.
        scale_free: Whether its updates stay as they are where each gradient is multiplied by a
            positive number, another one at each update; an intervention that only scales the
            gradient is refused with it.
    """

    kind: ClassVar[str] = "optimizer"
    declares: ClassVar[Mapping[str, Any]] = {"grid": None, "scale_free": False}
    elementwise: ClassVar[bool] = False

    def init(self, params: Parameters) -> State:
        """State before the first update: flat dict of tensors, all zero or constant; none here."""
        return {}

    @abstractmethod
    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        """Updates, to be added, of the parameters that have gradients, and the next state."""


@dataclass(frozen=True)
class OneMoment(Optimizer):
    """Carries one number for each of the parameters', 0 in the beginning."""

    elementwise: ClassVar[bool] = True
    moment: ClassVar[str] = "m"

    def init(self, params: Parameters) -> State:
        return {f"{self.moment}.{name}": torch.zeros_like(p) for name, p in params.items()}

    @abstractmethod
    def update_parameter(self, g: Tensor, moment: Tensor, lr: Tensor) -> tuple[Tensor, Tensor]:
        """The update of one parameter by its gradient and moment, and the next moment."""

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> UpdatesAndState:
        new_state, updates = dict(state), {}
        for name, g in gradients.items():
            key = f"{self.moment}.{name}"
            updates[name], new_state[key] = self.update_parameter(g, state[key], lr)
        return updates, new_state
