"""Start from the pretrained network."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Architecture, Parameters
from orla.starts.base import Start


@dataclass(frozen=True)
class Pretrained(Start, name="pretrained", label="pretrained", order=10):
    """The pretrained parameters, unchanged."""

    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        return params
