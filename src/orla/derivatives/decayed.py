"""Derivatives in which a number stands for the Jacobian: what a trace is made of."""

from dataclasses import dataclass

from torch import Tensor

from orla.architectures.base import Architecture, LinearGates, Parameters
from orla.architectures.stack import Stack
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.base import Derivatives, Local, Tape
from orla.derivatives.stacked import StackedDerivatives
from orla.derivatives.structured import StructuredDerivatives


@dataclass(frozen=True)
class DecayedDerivatives(Derivatives):
    """`decay` times the identity for J_t; D_t is the network's."""

    decay: float = 0.0

    def pull_step(self, params: Parameters, tape: Tape, cotangent: Tensor) -> tuple[Tensor, Local]:
        _, local = super().pull_step(params, tape, cotangent)
        return self.decay * cotangent, local


class _Automatic(DecayedDerivatives, AutomaticDerivatives):
    pass


class _Stacked(DecayedDerivatives, StackedDerivatives):
    pass


class _Structured(DecayedDerivatives, StructuredDerivatives):
    pass


def decayed(architecture: Architecture, decay: float) -> DecayedDerivatives:
    """Structured ones where the architecture has them, automatic ones elsewhere."""
    if isinstance(architecture, LinearGates):
        return _Structured(architecture, decay)
    if isinstance(architecture, Stack) and architecture.linear_gates:
        return _Stacked(architecture, decay)
    return _Automatic(architecture, decay)
