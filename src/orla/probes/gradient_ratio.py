"""Size of the readout's gradient relative to the recurrent parameters'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.interventions.base import norm
from orla.probes.base import Probe, State, Update
from orla.probes.series import apart, medians


@dataclass(frozen=True)
class GradientRatio(
    Probe,
    name="gradient_ratio",
    label="‖g_out‖/‖g_rec‖",
    columns={
        "gradient_ratio": "median over updates of the norm of the readout's gradient over that of "
        "the recurrent parameters'"
    },
):
    """||g_out|| / ||g_rec|| of the learner's gradient (paper, fig:grad_ratio).

    "Gradient norm ratio between output and recurrent parameters." The norms are over all parameters
    of the readout and over all others. An update without a gradient, that of a step that is not
    scored, has none and is left out; NaN where no recurrent parameter is learned.
    """

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        recurrent, readout = apart(update.learner, update.recurrent)
        if not recurrent:
            return state, {"gradient_ratio": update.state.new_full((), torch.nan)}
        return state, {"gradient_ratio": norm(readout) / norm(recurrent)}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"gradient_ratio": medians(series["gradient_ratio"])}
