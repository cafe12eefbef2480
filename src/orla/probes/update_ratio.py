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
    out = updates["W_out"].flatten(1)
    if "W_hh" not in updates:
        return {"update_ratio": torch.full_like(out[:, 0], torch.nan)}
    hh = updates["W_hh"].flatten(1)
    return {"update_ratio": torch.sqrt((hh * hh).sum(1)) / torch.sqrt((out * out).sum(1))}
