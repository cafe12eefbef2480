"""How far an optimizer turns the order of gradient norms around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.interventions.base import norm
from orla.probes.base import Probe, State, Update
from orla.probes.series import apart, medians


@dataclass(frozen=True)
class Amplification(
    Probe,
    name="amplification",
    label="‖g_rec‖/‖g_out‖ before and after the optimizer",
    columns={
        "raw_balance": "median over updates of the norm of the recurrent parameters' gradient "
        "over that of the readout's",
        "update_balance": "median over updates of the norm of the recurrent parameters' update "
        "over that of the readout's",
        "amplification": "median over updates of the second ratio over the first",
    },
):
    """||g_rec|| / ||g_out|| of the gradient, and the same of the update that is made of it.

    The paper (Appendix R) finds 0.008 before and 13.1 after Adam in an RWKV on chaotic dynamics.
    The quotient of both says how much more an optimizer scales the recurrent parameters than the
    readout; it does not depend on the rate. The gradient is the one that the optimizer gets. An
    update in which a norm is 0 or not finite is left out; NaN where none is left.
    """

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        inner = update.recurrent
        before, after = _balance(update.gradients, inner), _balance(update.updates, inner)
        return state, {"raw_balance": before, "update_balance": after}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        before, after = (
            np.where(np.isfinite(v) & (v > 0), v, np.nan)
            for v in (series["raw_balance"], series["update_balance"])
        )
        with np.errstate(invalid="ignore"):
            quotient = after / before
        columns = {"raw_balance": before, "update_balance": after, "amplification": quotient}
        return {name: medians(values) for name, values in columns.items()}


def _balance(values: Parameters, recurrent: Parameters) -> Tensor:
    inner, outer = apart(values, recurrent)
    if not inner or not outer:
        return torch.full_like(next(iter(values.values())).sum(), torch.nan)
    return norm(inner) / norm(outer)
