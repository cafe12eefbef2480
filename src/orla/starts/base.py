"""The base class of starts: the parameters with which adaptation begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from orla.architectures.base import Architecture, Parameters
from orla.catalogue import Part


@dataclass(frozen=True)
class Start(Part):
    """A change to the starting parameters of one network.

    pretrained (in the class statement): True: `apply` gets a pretrained network. False: it gets
        an untrained one, and no pretraining is run.
    """

    kind: ClassVar[str] = "start"
    declares: ClassVar[Mapping[str, Any]] = {"pretrained": True}

    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        """The starting parameters, of the shapes and precision of `params`; by default these.

        generator: Random numbers of this network's seed, for a start that needs them.
        """
        return params
