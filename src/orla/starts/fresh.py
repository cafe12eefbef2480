"""Start from an untrained network."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from orla.architectures.base import Architecture, Parameters
from orla.starts.base import Start


@dataclass(frozen=True)
class Fresh(Start, name="fresh", label="fresh", order=20, pretrained=False):
    """The network's random initial parameters; no pretraining is run."""

    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        return params
