"""Bytes that one model takes, counted from the objects that the engine makes."""

import contextlib
import dataclasses
import math
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.catalogue.options import options_of
from orla.engine.loop import Loop
from orla.engine.memory_request import COPIES, SIZES, WIDTH, WINDOW
from orla.engine.steps import Steps
from orla.errors import OrlaError
from orla.learners.base import Learner
from orla.losses.squared_error import SquaredError
from orla.optimizers.base import Optimizer

# Largest product of state size and recurrent parameters at which a model is made to be counted. A
# larger one is counted on the meta device, whose tensors have a shape and no numbers; there PyTorch
# loads its compiler, which takes longer than many a job.
_LARGEST_PRODUCT = 2**22


# Bytes that a step of a whole batch may go through on a CPU: beyond its cache a step takes two to
# three times as long (measured: LSTM of 64 units with Adam, 25 at once against 5).
_CACHE = 8_000_000


def cache_batch_size(loop: Loop, max_models: int, dtype: torch.dtype, device: str = "cpu") -> int:
    """How many models to compute together: `max_models`, or on a CPU as many as fit into a cache.

    The parts alone decide it, so that a job's digits depend on no machine and no limit of memory.
    """
    if device != "cpu":
        return max_models
    sizes = bytes_per_model(loop, dtype)
    step_bytes = sizes["buffers"] + sizes["stepped"] + 2 * (sizes["params"] + sizes["optimizer"])
    return max(1, min(max_models, _CACHE // step_bytes))


def learner_bytes(learner: Learner, optimizer: Optimizer, dtype: torch.dtype) -> int:
    """Bytes that a learner holds of one model between updates: its carry, its buffers and tapes."""
    sizes = bytes_per_model(Loop(learner, optimizer, SquaredError(), segment=learner.stride), dtype)
    return sizes["carry"] + sizes["buffers"] + sizes["tapes"]


def bytes_per_model(loop: Loop, dtype: torch.dtype) -> dict[str, int]:
    """Bytes of one model: "params", "optimizer", and of all learners "carry", "buffers", "tapes".

    "stepped" is what of the carry a step goes through: of a block of steps only one is written.
    """
    network = loop.learner.architecture
    recurrent = sum(math.prod(shape) for shape in network.recurrent_shapes().values())
    if network.state_size * recurrent > _LARGEST_PRODUCT:
        # Not so with a part that looks at values as it begins.
        with contextlib.suppress(RuntimeError, NotImplementedError):
            return _count_model_bytes(loop, dtype, "meta")
    return _count_model_bytes(loop, dtype, "cpu")


def _count_model_bytes(loop: Loop, dtype: torch.dtype, device: str) -> dict[str, int]:
    """`bytes_per_model`, counted from a state that is made on `device`."""
    params = {
        name: torch.zeros(1, *shape, dtype=dtype, device=device)
        for name, shape in loop.learner.architecture.shapes().items()
    }
    state, learners = loop.start(params), loop.learners
    with torch.no_grad():
        tapes = sum(_stored_steps_bytes(x, params, state.network) for x in learners.values())
    step_carries = [c for n, c in state.learners.items() if not learners[n].block_length]
    return {
        "params": bytes_of(params),
        "optimizer": bytes_of(state.optimizer),
        "carry": bytes_of(state.learners),
        "buffers": bytes_of(state.buffers),
        "tapes": tapes,
        "stepped": bytes_of(step_carries) if isinstance(loop.driver, Steps) else 0,
    }


def _stored_steps_bytes(learner: Learner, params: Parameters, network: Tensor) -> int:
    """Bytes that a learner stores of one model's steps, from one step and the steps it reads."""
    d, a = learner.derivatives, learner.architecture
    next_state, tape = d.forward(params, network, {"x": network.new_zeros(a.n_in)})
    # As the cotangent, the error and the readout's gradient; to compute them takes longer.
    cotangent, error = torch.zeros_like(next_state), network.new_zeros(1)
    readout = {name: params[name] for name in a.readout_shapes()}
    local = d.local_template(params, tape, cotangent)
    steps = max(learner.stride, learner.block_length)
    noise_bytes = learner.noise_size * network.element_size() * steps
    if learner.block_length:
        buffers_bytes = bytes_of(learner.buffers(params))
        return noise_bytes + learner.buffer_rebuild_bytes(params, buffers_bytes, bytes_of(local))
    if learner.stride == 1:
        return noise_bytes
    # The state as well, though not all learners read it: measured so for windows of 200 steps.
    window = learner.stride * bytes_of((network, tape, cotangent, error, readout, local))
    return noise_bytes + window + (learner.reach - learner.stride) * bytes_of((tape, local))


def bytes_of(tree: Any) -> int:
    """Bytes of all tensors of a tree."""
    return sum(leaf.nbytes for leaf in pytree.tree_leaves(tree))


def mb_by_network_and_learner() -> dict[str, dict[str, list[float]]]:
    """MB of one model in float64 with Adam, {architecture: {learner: [at each of SIZES]}}.

    Options are at their defaults, windows of WINDOW steps, WIDTH inputs and outputs.
    """
    table: dict[str, dict[str, list[float]]] = {}
    for architecture, part in catalogue.parts("architecture").items():
        if any(f.default is dataclasses.MISSING for f in options_of(part)):
            continue
        specs = [{"kind": architecture, "hidden": size} for size in SIZES]
        networks = [catalogue.make("architecture", g, n_in=WIDTH, n_out=WIDTH) for g in specs]
        for name, learner in catalogue.parts("learner").items():
            forms = (
                {name: 1, f"{name}-{WINDOW}": WINDOW} if learner.part.more["stride"] else {name: 0}
            )
            for form, steps in forms.items():
                more = dict.fromkeys(learner.part.short, steps) if steps else {}
                with contextlib.suppress(OrlaError):  # it does not take the network
                    mbs = [_learner_mb(network, {"kind": name, **more}) for network in networks]
                    table.setdefault(architecture, {})[form] = mbs
    return table


def _learner_mb(network: Architecture, spec: dict[str, Any]) -> float:
    """MB of one model with a learner of this specification, as a table of memory has it."""
    learner = catalogue.make("learner", spec, architecture=network)
    adam = catalogue.make("optimizer", "adam")
    loop = Loop(learner, adam, SquaredError(), segment=learner.stride)
    sizes = bytes_per_model(loop, torch.float64)
    copies = COPIES * sum(sizes[name] for name in ("params", "optimizer", "stepped"))
    mb = (copies + sum(sizes[name] for name in ("carry", "buffers", "tapes"))) / 1e6
    return float(f"{mb:.3g}")
