"""What a learner is: the rule that turns a stream into a gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from orla.architectures import Architecture, Parameters
from orla.learners.derivatives import Derivatives, derivatives

Carry = dict[str, Any]


class Memory(Protocol):
    """What `Learner.memory` answers."""

    def remember(self, carry: Carry) -> Carry:
        """Take in what the latest step left in `carry`; answers what the next step is given.

        Always of the same shapes, strides and precision, its keys in the same order: one program
        serves every step, and looks at none of them.
        """


@dataclass(frozen=True)
class Learner(ABC):
    """A pure pair `init(params) -> carry`, `step(carry, params, X, Y)` for a batch of models.

    All tensors of parameters, carries and gradients have the models on their first axis; the
    stream is shared. A learner takes `stride` steps of the stream at a time and answers with one
    gradient, the sum over those steps.
    """

    architecture: Architecture

    @property
    def stride(self) -> int:
        """Steps of the stream between two updates."""
        return 1

    @property
    def in_place(self) -> bool:
        """Whether `step` changes what it is given; then there is a `memory`."""
        return False

    @property
    def derivatives(self) -> Derivatives:
        """Structured derivatives where the architecture has them, automatic ones elsewhere."""
        return derivatives(self.architecture)

    def init(self, params: Parameters) -> Carry:
        """What is carried before the first step; "state" is (models, state_size).

        Each tensor in memory of its own.
        """
        return {"state": torch.func.vmap(self.architecture.initial_state)(params).clone()}

    def memory(self, carry: Carry) -> Memory | None:
        """What a learner changes in place between two steps; None for one that is pure.

        A pure learner's steps are compiled into one loop, where a segment holds more than one of
        them; one with a memory is called step by step.
        """
        return None

    @abstractmethod
    def step(
        self, carry: Carry, params: Parameters, X: Tensor, Y: Tensor
    ) -> tuple[Carry, Parameters, Tensor]:
        """One gradient from `stride` steps.

        Args:
            carry: From `init` or the step before.
            params: Parameters, each (models, ...).
            X: Inputs (stride, n_in).
            Y: Targets (stride, n_out).

        Returns:
            The next carry, the gradient of the summed losses (parameters that the learner leaves
            alone are absent), and the losses (stride, models): mean over outputs of the squared
            error.
        """
