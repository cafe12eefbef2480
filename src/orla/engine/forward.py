"""Runs of frozen networks over a stream."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Architecture, Parameters, rows_along_memory
from orla.derivatives import derivatives
from orla.engine.loop import Moments
from orla.programs.compiling import Compiled
from orla.programs.scan import scan

SEGMENT = 200


@dataclass(frozen=True)
class Run:
    """Outputs (models, steps, n_out) of frozen networks and their state after the last step.

    The state is None where the number of steps is no multiple of SEGMENT.
    """

    outputs: Tensor
    state: Tensor | None


def run(
    architecture: Architecture, params: Parameters, state: Tensor | None, moments: Moments
) -> Run:
    """Run frozen networks over a stream.

    Args:
        architecture: The networks' architecture.
        params: Each (models, ...).
        state: Starting state (models, state_size); None for the initial one.
        moments: "x" (steps, n_in), or (steps, models, n_in), in the precision of `params`, and
            "starts" where trials begin; other entries are ignored.
    """
    forward = _forward(architecture)
    with torch.no_grad():
        params = rows_along_memory(params)
        if state is None:
            # Contiguous as later states are, so that one compiled program serves both.
            state = vmap(architecture.initial_state)(params).contiguous()
        used = {name: moments[name].contiguous() for name in ("x", "starts") if name in moments}
        length, outputs = len(used["x"]), []
        for start in range(0, length, SEGMENT):
            part = {name: m[start : start + SEGMENT] for name, m in used.items()}
            steps = len(part["x"])
            # Padded to one length, so that one compiled program serves every stream.
            padded = {
                name: torch.cat([m, m.new_zeros(SEGMENT - steps, *m.shape[1:])])
                for name, m in part.items()
            }
            state, output = forward(params, state, padded)
            outputs.append(output[:steps])
        return Run(torch.cat(outputs).transpose(0, 1), None if length % SEGMENT else state)


@functools.cache
def _forward(architecture: Architecture) -> Compiled:
    def forward(params: Parameters, state: Tensor, moments: Moments) -> tuple[Tensor, Tensor]:
        def step(state: Tensor, moment: Moments, params: Parameters) -> tuple[Tensor, Tensor]:
            after, _ = derivatives(architecture).forward(params, state, moment)
            return after, vmap(architecture.readout)(params, after)

        return scan(step, state, moments, constants=(params,))

    return Compiled(forward, f"{type(architecture).__name__}, forward", [architecture])
