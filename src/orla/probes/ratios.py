"""Ratios of norms: of gradients, of updates, and before and after the optimizer."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.interventions.base import norm
from orla.probes.base import Probe, State, Update, medians, split_recurrent


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
        recurrent, readout = split_recurrent(update.learner, update.recurrent)
        if not recurrent:
            return state, {"gradient_ratio": update.state.new_full((), torch.nan)}
        return state, {"gradient_ratio": norm(readout) / norm(recurrent)}

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"gradient_ratio": medians(series["gradient_ratio"])}


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
        out = _joint_norm(update.updates["W_out"])
        hh = [u for name, u in update.updates.items() if name.partition(".")[0] == "W_hh"]
        return state, {
            "update_ratio": _joint_norm(*hh) / out if hh else torch.full_like(out, torch.nan)
        }


def _joint_norm(*updates: Tensor) -> Tensor:
    """Euclidean norm of all tensors together ()."""
    # Not flattened, because the compiler would copy the tensors into another layout.
    squares = [(u * u).sum(tuple(range(u.dim()))) for u in updates]
    return torch.sqrt(functools.reduce(torch.add, squares))


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
        return state, {
            "raw_balance": _recurrent_over_readout(update.gradients, update.recurrent),
            "update_balance": _recurrent_over_readout(update.updates, update.recurrent),
        }

    def summary(self, series: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        raw, update = (
            np.where(np.isfinite(v) & (v > 0), v, np.nan)
            for v in (series["raw_balance"], series["update_balance"])
        )
        with np.errstate(invalid="ignore"):
            quotient = update / raw
        columns = {"raw_balance": raw, "update_balance": update, "amplification": quotient}
        return {name: medians(values) for name, values in columns.items()}


def _recurrent_over_readout(values: Parameters, recurrent: Parameters) -> Tensor:
    """Norm on the recurrent parameters over that on the readout; NaN without either."""
    inner, outer = split_recurrent(values, recurrent)
    if not inner or not outer:
        return torch.full_like(next(iter(values.values())).sum(), torch.nan)
    return norm(inner) / norm(outer)
