"""What a learner is: the rule that turns a stream into a gradient."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from orla.architectures import Architecture, Parameters
from orla.derivatives.derivatives import Derivatives, derivatives

Carry = dict[str, Any]


@dataclass
class Memory:
    """What a learner finds in its carry at each step beside what it carries; here nothing.

    changed: What its step changes in place.
    read: What it leaves as it is.
    """

    changed: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """Steps that may be taken until `remember` is called, at least one."""
        return sys.maxsize

    def remember(self, carry: Carry, steps: int) -> Carry:
        """Take in that many steps, the last of which left `carry`; answers the next one's.

        Always of the same shapes, strides and precision, its keys in the same order: one program
        serves every step, and looks at none of them.
        """
        return carry


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
    def loops(self) -> bool:
        """Whether `step` itself loops over steps; others share one loop with their updates."""
        return self.stride > 1

    @property
    def has_memory(self) -> bool:
        """Whether there is a `memory` with something to do; `stride` is then 1."""
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

    def memory(self, params: Parameters) -> Memory:
        """What there is beside the carry before the first step."""
        return Memory()

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
