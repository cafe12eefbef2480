"""The base class of optimizers, written for one model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Part

State = dict[str, Tensor]


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
    ) -> tuple[Parameters, State]:
        """Updates (one tensor a gradient, to be added) and the next state.

        `gradients` may lack parameters; these get no update. `lr` is the model's learning rate, a
        scalar tensor.
        """
