"""What an optimizer is: a pure pair, written for one model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from orla.architectures.base import Parameters

State = dict[str, Tensor]


class Optimizer(ABC):
    """Turns a gradient into an update that is added to the parameters. None has weight decay.

    elementwise: Whether each number's update follows from that number's own gradient and state,
        without sums over others. A wrong answer costs time, nothing else.
    """

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
