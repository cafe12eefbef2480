"""What an optimizer is: a pure pair, written for one model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Part

State = dict[str, Tensor]


class Optimizer(Part, ABC):
    """Turns a gradient into an update that is added to the parameters. None has weight decay.

    elementwise: Whether each number's update follows from that number's own gradient and state,
        without sums over others. A wrong answer costs time, nothing else.
    grid (in the class statement): Half-decade learning rates where a config gives none, by
        cadence: {"step": [...], "window": [...]}.
    """

    kind: ClassVar[str] = "optimizer"
    declares: ClassVar[Mapping[str, Any]] = {"grid": None}
    elementwise: ClassVar[bool] = False

    @abstractmethod
    def init(self, params: Parameters) -> State:
        """State before the first update: flat dict of tensors, all of them zero or constant."""

    @abstractmethod
    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        """Updates (one tensor a gradient, to be added) and the next state.

        `gradients` may lack parameters that a learner leaves alone; these get no update. `lr` is
        the model's learning rate, a scalar tensor.
        """
