"""The gradients that a learner hands to its optimizer, from one network that never changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.engine.loop import Loop
from orla.learners.base import Learner
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer, State
from orla.probes.base import Probe, Update

_SEGMENT_STEPS = 200


class _Frozen(Optimizer):
    """Moves nothing, whatever the gradient."""

    def init(self, params: Parameters) -> State:
        return {}

    def update(
        self, gradients: Parameters, state: State, params: Parameters, lr: Tensor
    ) -> tuple[Parameters, State]:
        return {name: torch.zeros_like(g) for name, g in gradients.items()}, state


@dataclass(frozen=True)
class Gradients(Probe):
    """The gradients themselves, parameters in the order of the network's."""

    def measure(self, state: State, update: Update) -> tuple[State, dict[str, Tensor]]:
        return state, {n: update.gradients[n] for n in update.params if n in update.gradients}


def gradients(
    learner: Learner,
    params: Parameters,
    X: np.ndarray,
    Y: np.ndarray,
    on_steps: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """The gradient of each update with frozen weights, from the network's initial state on.

    Args:
        learner: With the architecture of `params`.
        params: One network; its precision is that of the computation.
        X: Inputs (steps, n_in).
        Y: Targets (steps, n_out). The loss of a step is the mean over outputs of the squared error.
        on_steps: Called with the number of steps done since the last call.

    Returns:
        {parameter: (updates, *shape)}, parameters that the learner leaves alone being absent; and
        "step" (updates,), the last step of each update, counted from 0. A learner with one update
        a step has as many updates as steps. A window learner's gradient is that of the window's
        summed losses, and steps that do not fill a last window are passed over.

    Raises:
        OrlaError: The stream is shorter than one update.
    """
    batch = {name: p[None] for name, p in params.items()}
    rates = params["W_out"].new_zeros(1)
    stride = learner.stride
    segment = stride * math.ceil(_SEGMENT_STEPS / stride)
    loop = Loop(learner, _Frozen(), SquaredError(), probes=[Gradients()], segment=segment)
    moments = {n: torch.as_tensor(a, dtype=rates.dtype) for n, a in (("x", X), ("y", Y))}
    result = loop.run(loop.start(batch), rates, moments, on_segment=on_steps)
    series = {name: values[0] for name, values in result.series.items()}
    return series | {"step": np.arange(stride - 1, len(X), stride)}
