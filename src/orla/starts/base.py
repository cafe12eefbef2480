"""Starts: the parameters with which adaptation begins."""

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


class Fresh(Start, name="fresh", label="fresh", order=20, pretrained=False):
    """The network's random initial parameters; no pretraining is run."""


class Pretrained(Start, name="pretrained", label="pretrained", order=10):
    """The pretrained parameters, unchanged."""


class WithoutRecurrence(
    Start, name="without-recurrence", label="W_hh at zero", order=40, pretrained=False
):
    """The start `fresh` with W_hh at zero; of a stack, that of every layer.

    With the intervention `hold` it stays there. A network that has no W_hh is left as it is, and
    `hold` refuses it.
    """

    def apply(
        self, architecture: Architecture, params: Parameters, generator: torch.Generator
    ) -> Parameters:
        recurrent = [name for name in params if name.partition(".")[0] == "W_hh"]
        return params | {name: torch.zeros_like(params[name]) for name in recurrent}
