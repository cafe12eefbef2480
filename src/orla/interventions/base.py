"""The base class of interventions: changes to the gradient between learner and optimizer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import Part

State = dict[str, Tensor]
GradientAndState = tuple[Parameters, State]


class Gradients(NamedTuple):
    """The gradients of one update of one model.

    own: The gradient by parameter: the learner's, or the result of the previous intervention.
    observers: The gradients of the observers (learners that do not drive the trajectory), by
        their names in the config.
    """

    own: Parameters
    observers: Mapping[str, Parameters]


@dataclass(frozen=True)
class Intervention(Part, ABC):
    """Pure functions `init(params)` and `update(gradients, state, params)`, for one model.

    scales (in the class statement): Whether it multiplies the whole gradient by one positive number
        and does nothing else.
    """

    kind: ClassVar[str] = "intervention"
    declares: ClassVar[Mapping[str, Any]] = {"scales": False}

    def observers(self) -> tuple[str, ...]:
        """Names of the observers that it reads; a study without them is refused."""
        return ()

    def init(self, params: Parameters) -> State:
        """State before the first update."""
        return {}

    @abstractmethod
    def update(self, gradients: Gradients, state: State, params: Parameters) -> GradientAndState:
        """The gradient that replaces `gradients.own`, and the next state."""


def norm(gradient: Parameters) -> Tensor:
    """Euclidean norm over all parameters ()."""
    return sum((g * g).sum() for g in gradient.values()).sqrt()
