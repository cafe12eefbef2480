"""Forward and backward through one step of a network."""

from orla.architectures.base import Architecture, LinearGates
from orla.architectures.retnet import RetNet
from orla.architectures.stack import Stack
from orla.derivatives.automatic import AutomaticDerivatives, RetentionDerivatives
from orla.derivatives.base import Derivatives
from orla.derivatives.stacked import StackedDerivatives
from orla.derivatives.structured import StructuredDerivatives


def derivatives(architecture: Architecture) -> Derivatives:
    """Structured derivatives where the architecture has them, automatic ones elsewhere."""
    if isinstance(architecture, LinearGates):
        return StructuredDerivatives(architecture)
    if isinstance(architecture, Stack) and architecture.linear_gates:
        return StackedDerivatives(architecture)
    if isinstance(architecture, RetNet) and not architecture.rotation:
        return RetentionDerivatives(architecture)
    return AutomaticDerivatives(architecture)
