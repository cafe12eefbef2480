"""Size of the recurrent weights' update relative to the readout's."""

from __future__ import annotations

import functools
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

    W_hh of a stack is that of all its layers: W_hh.0, W_hh.1, ... NaN where it is not learned;
    infinite where the update of W_out is 0.
    """

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        out = _norm(update.updates["W_out"])
        hh = [u for name, u in update.updates.items() if name.partition(".")[0] == "W_hh"]
        return state, {"update_ratio": _norm(*hh) / out if hh else torch.full_like(out, torch.nan)}


def _norm(*updates: Tensor) -> Tensor:
    # Not flattened, because the compiler would copy the tensors into another layout.
    squares = [(u * u).sum(tuple(range(u.dim()))) for u in updates]
    return torch.sqrt(functools.reduce(torch.add, squares))
