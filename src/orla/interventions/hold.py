"""Hold parameters where they are."""

from dataclasses import dataclass

import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.errors import OrlaError
from orla.interventions.base import GradientAndState, Gradients, Intervention, State


@dataclass(frozen=True)
class Hold(Intervention, name="hold", label="{weights} held"):
    """The gradient of these parameters is 0, and so is their update by an optimizer without decay.

    Of a stack they are those of every layer. With the start `without-recurrence` and W_hh a network
    has no recurrence.
    """

    weights: str = option("W_hh", "Parameters, joined by +.")

    def update(self, gradients: Gradients, state: State, params: Parameters) -> GradientAndState:
        names = set(self.weights.split("+"))
        if unknown := names - {name.partition(".")[0] for name in gradients.own}:
            raise OrlaError(f"intervention hold: no {sorted(unknown)[0]} is learned; name one")
        return {
            name: torch.zeros_like(g) if name.partition(".")[0] in names else g
            for name, g in gradients.own.items()
        }, state
