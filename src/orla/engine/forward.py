"""How well frozen networks decode: forward runs, errors, recovery and R2."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures import Architecture, Parameters, rows_along_memory
from orla.programs.compiling import Compiled
from orla.programs.scan import scan

SEGMENT = 200
UNRELIABLE_BELOW = 0.05


@dataclass(frozen=True)
class Run:
    """Outputs (models, steps, n_out) of frozen networks and their state after the last step.

    The state is None where the steps were no multiple of SEGMENT.
    """

    outputs: Tensor
    state: Tensor | None


def run(architecture: Architecture, params: Parameters, state: Tensor | None, X: Tensor) -> Run:
    """Run frozen networks over X (steps, n_in).

    Args:
        architecture: The networks' architecture.
        params: Each (models, ...).
        state: Starting state (models, state_size); None for the initial one.
        X: Inputs shared by all models, in the precision of `params`.
    """
    forward = _forward(architecture)
    with torch.no_grad():
        params = rows_along_memory(params)
        if state is None:
            # Of the shape in memory that later states have: one program serves both.
            state = vmap(architecture.initial_state)(params).contiguous()
        outputs = []
        for part in X.contiguous().split(SEGMENT):
            # Padded to one length, so that one compiled program serves every stream.
            padded = torch.nn.functional.pad(part, (0, 0, 0, SEGMENT - len(part)))
            state, output = forward(params, state, padded)
            outputs.append(output[: len(part)])
        return Run(torch.cat(outputs).transpose(0, 1), None if len(X) % SEGMENT else state)


@functools.cache
def _forward(architecture: Architecture) -> Compiled:
    def forward(params: Parameters, state: Tensor, X: Tensor) -> tuple[Tensor, Tensor]:
        def step(state: Tensor, x: Tensor, params: Parameters) -> tuple[Tensor, Tensor]:
            after = vmap(architecture.step, in_dims=(0, 0, None))(params, state, x)
            return after, vmap(architecture.readout)(params, after)

        return scan(step, state, X, constants=(params,))

    return Compiled(forward, f"{type(architecture).__name__}, forward", [architecture])


def mean_squared_error(outputs: Tensor, Y: Tensor) -> np.ndarray:
    """Mean over steps and outputs (models,) of (outputs - Y)^2, in units of the z-scored target."""
    return ((outputs - Y) ** 2).mean((1, 2)).double().cpu().numpy()


def r_squared(outputs: Tensor, Y: Tensor) -> dict[str, np.ndarray]:
    """R2 of each model (models,): r2_x, r2_y, their mean, and the mean weighted by variance."""
    residual = ((outputs - Y) ** 2).sum(1).double()
    total = ((Y - Y.mean(0)) ** 2).sum(0).double()
    each = (1.0 - residual / total).cpu().numpy()
    weighted = 1.0 - (residual.sum(1) / total.sum()).cpu().numpy()
    return {
        "r2_x": each[:, 0],
        "r2_y": each[:, -1],
        "r2_mean": each.mean(1),
        "r2_weighted": weighted,
    }


def recovery_percent(frozen: np.ndarray, adapted: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """100 (frozen - adapted) / (frozen - reference), all mean squared errors.

    0 is a network that does not adapt, 100 one that decodes session B as well as A's held-out part.
    Source: docs/protocol.md, Recovery; the paper does not define it.
    """
    return 100.0 * (frozen - adapted) / (frozen - reference)


def unreliable(frozen: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Whether the denominator of `recovery_percent` is too small (under 0.05) to divide by."""
    return ~((frozen - reference) >= UNRELIABLE_BELOW)
