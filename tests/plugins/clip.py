"""Clip the gradient to a norm."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Parameters
from orla.catalogue import option
from orla.interventions.base import Gradients, Intervention, State, norm


@dataclass(frozen=True)
class Clip(Intervention, name="clip", label="clipped to {most:g}"):
    """g min(1, most / ||g||) over all parameters, as torch.nn.utils.clip_grad_norm_."""

    most: float = option(1.0, "Norm that no gradient exceeds.", above=0)

    def update(
        self, gradients: Gradients, state: State, params: Parameters
    ) -> tuple[Parameters, State]:
        factor = self.most / torch.clamp(norm(gradients.own), min=self.most)
        return {name: factor * g for name, g in gradients.own.items()}, state
