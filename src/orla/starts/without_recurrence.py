"""Start from an untrained network without recurrent weights."""

from __future__ import annotations

import torch

from orla.architectures.base import Architecture, Parameters
from orla.starts.base import Start


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
