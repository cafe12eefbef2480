"""The base class of interventions that part a gradient into present and past."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.errors import OrlaError
from orla.interventions.base import Gradients, Intervention


@dataclass(frozen=True, kw_only=True)
class OfPast(Intervention):
    """g_past = g_full - g_imm over all parameters that both have (paper, Section 3).

    Each of the two is the learner's gradient or an observer's, by name.
    """

    immediate: str = option(text="The observer with the immediate gradient; own for the learner's.")
    full: str = option("own", "The observer with the full gradient; own likewise.")

    def __post_init__(self) -> None:
        if self.immediate == self.full:
            raise OrlaError(
                f'{self.kind} {self.part.name}: "immediate" and "full" are both "{self.full}", so'
                " that nothing is left of the past; name two gradients"
            )

    def observers(self) -> tuple[str, ...]:
        return tuple(name for name in (self.full, self.immediate) if name != "own")

    def full_and_immediate(self, gradients: Gradients) -> tuple[Parameters, Parameters]:
        """The full and the immediate gradient, by the parameters that both have."""
        by_name = {**gradients.observers, "own": gradients.own}
        full, imm = by_name[self.full], by_name[self.immediate]
        names = [name for name in full if name in imm]
        return {name: full[name] for name in names}, {name: imm[name] for name in names}


def dot(a: Parameters, b: Parameters) -> Tensor:
    """Inner product over all parameters ()."""
    return torch.stack([(a[name] * b[name]).sum() for name in a]).sum()
