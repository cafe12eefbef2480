"""What probes measure of the network itself between two segments of a stream."""

import functools

import torch
from torch import Tensor
from torch.func import vmap

from orla.architectures.base import Parameters
from orla.derivatives.base import axis_of_models
from orla.engine.state import State
from orla.engine.update import Parts, StreamTensors
from orla.learners.base import Learner


def probe_looks(parts: Parts, state: State, stream: StreamTensors) -> dict[str, Tensor]:
    """What probes see before the first of these steps; {} where none looks at it."""
    learner = parts.learner
    values: dict[str, Tensor] = {}
    for probe in parts.probes:
        if not probe.network_stride or not state.step or state.step % probe.network_stride:
            continue
        first = {name: m[0] for name, m in stream.items()}
        previous = learner.derivatives.state_before(state.params, state.network, first)
        look = functools.partial(probe.measure_network, learner.architecture)
        axes = (0, 0, axis_of_models(first), 0)
        arguments = state.params, previous, first["x"], _sensitivity(learner, state, first)
        # One model after the other, because a look may be large.
        values |= vmap(look, in_dims=axes, chunk_size=1)(*arguments)
    return values


def _sensitivity(learner: Learner, state: State, step: StreamTensors) -> Parameters:
    """The learner's sensitivity before a step; 0 where a trial starts with it."""
    carry = state.learners["own"] | state.buffers["own"]
    sensitivity = learner.sensitivity(carry, state.params)
    if "starts" not in step:
        return sensitivity
    goes_on = (~step["starts"]).expand(len(state.network))
    return {
        name: torch.einsum("m,m...->m...", goes_on.to(p.dtype), p)
        for name, p in sensitivity.items()
    }
