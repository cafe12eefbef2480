"""Runs of frozen networks over a stream."""

import functools

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Architecture, Parameters, column_major
from orla.derivatives import derivatives
from orla.derivatives.base import axis_of_models
from orla.engine.update import StreamTensors, pad
from orla.programs.compiling import Compiled
from orla.programs.scan import scan
from orla.provenance import cost

SEGMENT = 200


def outputs_of(
    architecture: Architecture, params: Parameters, state: Tensor | None, stream: StreamTensors
) -> Tensor:
    """Outputs (models, steps, n_out) of frozen networks over a stream.

    state: Starting state (models, state_size); None for the initial one.
    stream: "x" (steps, n_in), or (steps, models, n_in), in the precision of `params`, and "starts"
        where trials begin; other entries are ignored.
    """
    run = _compiled_forward(architecture)
    steps = len(stream["x"]) * len(next(iter(params.values())))
    with torch.no_grad(), cost.work_phase("scoring", steps):
        params = column_major(params)
        if state is None:
            # Contiguous as later states are, so that one compiled program serves both.
            state = vmap(architecture.initial_state)(params).contiguous()
        inputs = {name: stream[name].contiguous() for name in ("x", "starts") if name in stream}
        outputs = []
        for start in range(0, len(inputs["x"]), SEGMENT):
            part = {name: m[start : start + SEGMENT] for name, m in inputs.items()}
            state, output = run(params, state, pad(part, SEGMENT))
            outputs.append(output[: len(part["x"])])
        return torch.cat(outputs).transpose(0, 1)


@functools.cache
def _compiled_forward(architecture: Architecture) -> Compiled:
    """The program of a stretch of steps: from the state before to the last one and the outputs."""

    def step(
        state: Tensor, stream_step: StreamTensors, params: Parameters
    ) -> tuple[Tensor, Tensor]:
        previous = derivatives(architecture).state_before(params, state, stream_step)
        axes = 0, 0, axis_of_models(stream_step)
        state = vmap(architecture.step, in_dims=axes)(params, previous, stream_step["x"])
        return state, vmap(architecture.readout)(params, state)

    def forward(params: Parameters, state: Tensor, stream: StreamTensors) -> tuple[Tensor, Tensor]:
        return scan(step, state, stream, constants=(params,))

    return Compiled(forward, f"{type(architecture).__name__}, forward", [architecture])
