"""Rescale the gradient to an observer's norm."""

from dataclasses import dataclass

import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.interventions.base import GradientAndState, Gradients, Intervention, State, norm


@dataclass(frozen=True)
class MatchNorm(
    Intervention, name="match-norm", label="rescaled to the norm of {observer}", scales=True
):
    """g' = g ||g_observer|| / ||g||, norms over all parameters; g is kept where its norm is 0.

    In the paper's magnitude-matched immediate gradients, g is the immediate gradient and the
    observer the full one. An optimizer that is scale free, such as LARS, does the same with it as
    without it; a config with both is refused.
    """

    observer: str = option(text="Name of the observer whose norm the gradient gets.")

    def observers(self) -> tuple[str, ...]:
        return (self.observer,)

    def update(self, gradients: Gradients, state: State, params: Parameters) -> GradientAndState:
        length, goal = norm(gradients.own), norm(gradients.observers[self.observer])
        factor = torch.where(length > 0, goal / torch.where(length > 0, length, 1.0), 1.0)
        return {name: factor * g for name, g in gradients.own.items()}, state
