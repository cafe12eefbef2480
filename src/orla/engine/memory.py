"""How much memory a sweep job needs at its peak.

Parameters and all that learners, optimizer, interventions and probes carry are counted from the
objects that the engine makes: of a large model on PyTorch's meta device, whose tensors have a shape
and no numbers. How many copies are alive at once, and what programs and libraries take, is measured
(`python -m benchmarks memory` holds the sum to real jobs).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Architecture, Parameters
from orla.engine.asked_memory import (
    BESIDE,
    CACHE,
    COPIES_APART,
    COPIES_IN_LOOK,
    COPIES_IN_LOOP,
    LONGEST,
    PROCESS,
    streams_bytes,
)
from orla.engine.loop import Loop
from orla.engine.state import PRECISIONS
from orla.errors import OrlaError
from orla.learners.base import Learner
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer

# Of what a learner changes in place at each step, what is computed beside it, measured: a dense
# sensitivity's product with J, its direct derivative, and both added.
TEMPORARIES = 3

# With at most so many numbers in the state times the recurrent parameters, a model is counted by
# making it: on the meta device PyTorch loads its compiler, which takes longer than many a job. An
# intervention may hold much more than its model.
_MADE = 2**22


def components(
    loop: Loop,
    *,
    models: int = 5,
    precision: str = "float64",
    steps: int = LONGEST,
    snapshots: int = 0,
    own_streams: int = 0,
) -> dict[str, int]:
    """Bytes of a sweep job, by what they are for; "fixed" is what an empty job would take.

    Args:
        loop: Of the condition; its segment and its loss do not matter here.
        models: Models computed together.
        precision: "float64" or "float32".
        steps: Steps of the longest stream of the job.
        snapshots: Steps after which each model of a batch is kept, from `asked_memory.sizes`.
        own_streams: Seeds that have streams of their own; 0 where all share one.

    Raises:
        OrlaError: The precision is unknown.
    """
    one, copies, network = _one(loop, precision), _copies(loop), loop.learner.architecture
    of_models = {
        "parameters": copies * one["params"],
        "optimizer": copies * one["optimizer"],
        "gradients": (len(loop.observers) + len(loop.interventions)) * one["params"],
        "network": one["network"],
        # A step answers with a new one beside the old.
        "carry": 2 * one["carry"],
        "buffers": one["changed"],
        "temporaries": TEMPORARIES * one["stepped"],
        "sensitivity": one["read"],
        "tapes": one["tapes"],
        "snapshots": snapshots * (one["params"] + one["network"]),
    }
    return {name: each * models for name, each in of_models.items()} | {
        "looks": _look(loop),
        "streams": streams_bytes(models, network.n_in, network.n_out, steps, own_streams),
        "fixed": PROCESS + BESIDE,
    }


def _copies(loop: Loop) -> int:
    return COPIES_APART if loop.apart else COPIES_IN_LOOP


def _look(loop: Loop) -> int:
    """Bytes of a look, which is at one model after the other."""
    network = loop.learner.architecture
    if not any(probe.look_stride for probe in loop.probes):
        return 0
    return COPIES_IN_LOOK * network.hidden * _recurrent(network) * 8


def _recurrent(network: Architecture) -> int:
    """Recurrent parameters of a network."""
    return sum(math.prod(shape) for shape in network.recurrent_shapes().values())


def carried_bytes(learner: Learner, optimizer: Optimizer, dtype: torch.dtype) -> int:
    """Bytes that a learner holds of one model between updates: its carry, its buffers and tapes.

    What it needs only while it computes a gradient is not counted, so that a learner that looks at
    one step alone holds nothing; nor is the optimizer's state, so that any optimizer will do.
    """
    loop = Loop(learner, optimizer, SquaredError(), segment=learner.stride)
    one = one_model(loop, dtype)
    return sum(one[name] for name in ("carry", "changed", "read", "tapes"))


def _one(loop: Loop, precision: str) -> dict[str, int]:
    """Bytes of one model."""
    if precision not in PRECISIONS:
        raise OrlaError(f"precision {precision!r} is unknown; choose one of {sorted(PRECISIONS)}")
    return one_model(loop, PRECISIONS[precision])


def one_model(loop: Loop, dtype: torch.dtype) -> dict[str, int]:
    """Bytes of one model, by what they are for."""
    network = loop.learner.architecture
    if network.state_size * _recurrent(network) <= _MADE and not loop.interventions:
        return _counted(loop, dtype, "cpu")
    try:
        return _counted(loop, dtype, "meta")
    except (RuntimeError, NotImplementedError):  # a part that looks at values as it begins
        return _counted(loop, dtype, "cpu")


def _counted(loop: Loop, dtype: torch.dtype, device: str) -> dict[str, int]:
    params = {
        name: torch.zeros(1, *shape, dtype=dtype, device=device)
        for name, shape in loop.learner.architecture.shapes().items()
    }
    state = loop.start(params)
    carried = list(state.learners.values())
    with torch.no_grad():
        tapes = sum(_tapes(learner, params, state.network) for learner in loop.learners.values())
    return {
        "params": bytes_of(params),
        "network": bytes_of(state.network),
        "optimizer": bytes_of(state.optimizer),
        "carry": bytes_of([[c.carry for c in carried], state.interventions, state.probes]),
        "changed": bytes_of([c.memory.changed for c in carried]),
        # A learner with blocks stores one step at a time; others go through all that they change.
        "stepped": bytes_of(
            [
                c.memory.changed
                for learner, c in zip(loop.learners.values(), carried, strict=True)
                if not learner.block_length
            ]
        ),
        "read": bytes_of([c.memory.read for c in carried]),
        "tapes": tapes,
    }


def _tapes(learner: Learner, params: Parameters, network: Tensor) -> int:
    """Bytes that one model's steps leave for a learner, from one step and how many it looks at."""
    d, a = learner.derivatives, learner.architecture
    after, tape = d.forward(params, network, {"x": network.new_zeros(a.n_in)})
    # As the cotangent, the error and the readout's gradient; to compute them takes longer.
    cotangent, error = torch.zeros_like(after), network.new_zeros(1)
    readout = {name: params[name] for name in a.readout_shapes()}
    local = d.local_like(params, tape, cotangent)
    drawn = learner.noise * network.element_size() * max(learner.stride, learner.block_length)
    if learner.block_length:
        # A block ends with every unit vector of the state pulled back through all of its steps.
        return drawn + learner.block_length * a.state_size * bytes_of(local)
    if learner.stride == 1:
        return drawn
    # The state as well, though not all learners read it: measured so for windows of 200 steps.
    window = learner.stride * bytes_of((network, tape, cotangent, error, readout, local))
    return drawn + window + (learner.reach - learner.stride) * bytes_of((tape, local))


def bytes_of(tree: Any) -> int:
    """Bytes of all tensors of a tree."""
    return sum(leaf.nbytes for leaf in pytree.tree_leaves(tree))


def peak_bytes(loop: Loop, **sizes: Any) -> int:
    """Peak memory of a sweep job in bytes; arguments and errors as those of `components`."""
    return sum(components(loop, **sizes).values())


def batch_models(
    loop: Loop, *, most: int, memory_mb: float | None = None, device: str = "cpu", **sizes: Any
) -> int:
    """How many models to compute together: `most`, or as many as cache and memory hold.

    Args:
        loop, sizes: As for `components`, `models` apart.
        most: Models, at most.
        memory_mb: What the job may take; None for no limit.
        device: Where the models are computed; only a CPU's cache is heeded.

    Returns:
        At least 1.

    Raises:
        OrlaError: Not even one model fits into `memory_mb`, or as for `components`.
    """
    one, copies = components(loop, models=1, **sizes), _copies(loop)
    if device == "cpu":
        # P and what a step carries or works on, and what an update carries, old and new.
        stepped = one["sensitivity"] + one["temporaries"] // TEMPORARIES
        stepped += (copies == COPIES_IN_LOOP) * one["carry"]
        touched = stepped + 2 * (one["parameters"] + one["optimizer"]) // copies
        most = max(1, min(most, CACHE // touched))
    if memory_mb is None:
        return most
    none = peak_bytes(loop, models=0, **sizes)
    each = sum(one.values()) - none
    if fitting := max(0, int(memory_mb * 1e6 - none)) // each:
        return min(most, fitting)
    needed = sum(one.values()) / 1e6
    raise OrlaError(
        f"memory: one model of {loop.learner.part.name} with {loop.optimizer.part.name} needs"
        f" {needed:.0f} MB and the job has {memory_mb:.0f}; give its rule more:"
        f" --set-resources RULE:mem_mb={math.ceil(1.1 * needed)}"
    )
