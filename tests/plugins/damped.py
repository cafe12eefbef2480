"""A network whose recurrent weights are made smaller or larger."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import option
from orla.starts.base import Start


@dataclass(frozen=True)
class Damped(Start, name="damped", label="W_hh times {factor:g}", order=30):
    """The pretrained network with W_hh times `factor`."""

    factor: float = option(0.9, "What each recurrent weight is multiplied by.")

    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        return params | {"W_hh": self.factor * params["W_hh"]}
