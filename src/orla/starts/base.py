"""What a start is: the parameters that a network begins to adapt with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part


@dataclass(frozen=True)
class Start(Part, ABC):
    """A change to the starting parameters of one network.

    pretrained (in the class statement): Whether it is given a pretrained network; else a fresh one.
    """

    kind: ClassVar[str] = "start"
    declares: ClassVar[Mapping[str, Any]] = {"pretrained": True}

    @abstractmethod
    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        """The parameters to begin with, each of the shape and precision that it had.

        generator: Of this network's seed, for a start that draws.
        """
