"""What a learner is: the rule that turns a stream into a gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from torch import Tensor

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part
from orla.derivatives import Derivatives, derivatives

Carry = dict[str, Any]

# A step that was taken, or a window of them on a first axis of all entries:
# "moment" (inputs and targets), "before" (models, state_size: the state that the step was taken
# from), "tape" (what it left for its derivatives), "cotangent" (models, state_size: dL/dh), and for
# a learner that draws "noise" (models, numbers).
Step = dict[str, Any]


@dataclass
class Memory:
    """Buffers that a learner keeps beside its carry.

    changed: Buffers that `gradient` changes in place.
    read: Buffers that `gradient` reads and `end_block` changes.
    """

    changed: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Learner(Part, ABC):
    """A pure pair `init(params) -> carry`, `gradient(carry, params, step) -> (carry, gradient)`.

    The loop runs the network forward, works out dL/dh_t and the readout's exact gradient, and asks
    the learner for the gradient of the recurrent parameters alone; so several learners can watch
    one trajectory. All tensors have the models on their first axis.

    Class statement:
        stride: The option that gives the steps between two updates, or "" for an update each step.
        exactness: "exact", "unbiased" or "biased", against exact RTRL.
        source: The paper that the rule comes from.
    """

    kind: ClassVar[str] = "learner"
    declares: ClassVar[Mapping[str, Any]] = {"stride": "", "exactness": "biased", "source": ""}

    architecture: Architecture

    @property
    def stride(self) -> int:
        """Steps of the stream between two updates."""
        return getattr(self, self.part.more["stride"]) if self.part.more["stride"] else 1

    @property
    def reach(self) -> int:
        """Steps that `gradient` goes back through at most; the memory model counts their tapes."""
        return self.stride

    @property
    def loops(self) -> bool:
        """Whether `gradient` itself loops over steps: it is then compiled apart from updates."""
        return self.stride > 1

    @property
    def block_length(self) -> int:
        """Steps after which `end_block` is called; 0 for never. `stride` is 1 where it is not 0."""
        return 0

    @property
    def reads_before(self) -> bool:
        """Whether `gradient` reads "before" of a window's steps; that is not kept otherwise."""
        return self.stride == 1

    @property
    def noise(self) -> int:
        """How many random numbers, uniform on [0, 1), each model is given at each step."""
        return 0

    @property
    def derivatives(self) -> Derivatives:
        """Structured derivatives where the architecture has them, automatic ones elsewhere."""
        return derivatives(self.architecture)

    def init(self, params: Parameters) -> Carry:
        """What is carried before the first step, each tensor in memory of its own."""
        return {}

    def memory(self, params: Parameters) -> Memory:
        """Buffers beside the carry before the first step; `gradient` finds them in its carry."""
        return Memory()

    @abstractmethod
    def gradient(self, carry: Carry, params: Parameters, step: Step) -> tuple[Carry, Parameters]:
        """The gradient of the recurrent parameters.

        Args:
            carry: From `init` or the step before, with the buffers of `memory`.
            params: Parameters, each (models, ...).
            step: The step, or where `stride` is more than 1 the window of `stride` steps.

        Returns:
            The next carry, and the gradient of the summed errors; parameters that the learner
            leaves alone are absent.
        """

    def end_block(self, memory: Memory) -> None:
        """Called after every `block_length` steps; changes `memory` in place."""


def on_first_axis(tree: dict[str, Tensor]) -> dict[str, Tensor]:
    """One step as a window of one."""
    return {name: value[None] for name, value in tree.items()}
