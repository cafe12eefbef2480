"""Size of the recurrent weights' update relative to the readout's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orla.probes.base import Probe, State, Update


@dataclass(frozen=True)
class UpdateRatio(
    Probe,
    name="update_ratio",
    label="‖ΔW_hh‖/‖ΔW_out‖",
    columns={"update_ratio": "mean over updates of the norm of dW_hh over that of dW_out"},
):
    """||dW_hh|| / ||dW_out|| of each update (paper, Table 3).

    NaN where W_hh is not learned; infinite where the update of W_out is 0.
    """

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        out = _norm(update.updates["W_out"])
        if "W_hh" not in update.updates:
            return state, {"update_ratio": torch.full_like(out, torch.nan)}
        return state, {"update_ratio": _norm(update.updates["W_hh"]) / out}


def _norm(update: Tensor) -> Tensor:
    # Not flattened, because the compiler would copy the tensor into another layout.
    return torch.sqrt((update * update).sum(tuple(range(update.dim()))))
