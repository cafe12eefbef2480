"""How much the recurrent weights move, relative to the readout's."""

from __future__ import annotations

import torch
from torch import Tensor

from orla.architectures import Parameters


def update_ratio(
    params: Parameters, gradients: Parameters, updates: Parameters
) -> dict[str, Tensor]:
    """||dW_hh|| / ||dW_out|| of one update (paper, Table 3): {"update_ratio": (models,)}.

    NaN where W_hh is not learned; infinite where W_out stands still.
    """
    out = _norm(updates["W_out"])
    if "W_hh" not in updates:
        return {"update_ratio": torch.full_like(out, torch.nan)}
    return {"update_ratio": _norm(updates["W_hh"]) / out}


def _norm(update: Tensor) -> Tensor:
    # Not flattened: that would have the compiler copy it into another layout first.
    return torch.sqrt((update * update).sum(tuple(range(1, update.dim()))))
