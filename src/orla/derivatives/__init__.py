"""Forward and backward through one step of a network."""

from orla.architectures.base import Architecture, LinearGates
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.base import Derivatives
from orla.derivatives.structured import StructuredDerivatives


def derivatives(architecture: Architecture) -> Derivatives:
    """Structured derivatives where the architecture has them, automatic ones elsewhere."""
    if isinstance(architecture, LinearGates):
        return StructuredDerivatives(architecture)
    return AutomaticDerivatives(architecture)
