"""How much memory a sweep job needs at its peak: arithmetic on sizes.

What a learner, an optimizer and a stream hold is counted exactly; how many copies of it are alive
at once, and what imports and compiled code take, is measured (`python -m benchmarks memory` holds
both to real jobs). Nothing here imports PyTorch for an architecture whose sizes are listed, so
that a workflow may ask while it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orla.errors import OrlaError

BYTES = {"float64": 8, "float32": 4}

# A process with everything imported, the compiler loaded and one loop compiled afresh (measured).
FIXED = 540_000_000

# Steps of session B that a job is given memory for before its length is known: 83 minutes of 50 ms.
LONGEST = 100_000

# Lengths in units of `hidden`: pre-activations, state, and cache of `activate`.
_LISTED = {"rnn": (1, 1, 1), "lstm": (4, 2, 6)}


@dataclass(frozen=True)
class Sizes:
    """An architecture's numbers a model, by what they are for.

    shapes: Of all parameters, the readout's last two.
    recurrent: Parameters that the state depends on.
    state: Length of the state.
    tape: What one step leaves for its derivatives.
    local: What one pulled-back step leaves for the parameters' gradient.
    history: Parameters that pulling back through a step reads.
    kept: What exact RTRL keeps of a step, `history` apart.
    """

    shapes: tuple[tuple[int, ...], ...]
    recurrent: int
    state: int
    tape: int
    local: int
    history: int
    kept: int
    n_in: int
    n_out: int

    @property
    def parameters(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def readout(self) -> int:
        return self.parameters - self.recurrent


def sizes(architecture: Any, hidden: int = 64, n_in: int = 40, n_out: int = 2) -> Sizes:
    """Sizes of an architecture: its name and dimensions, or an Architecture, which has its own.

    Raises OrlaError for a name that is no architecture's.
    """
    if isinstance(architecture, str):
        if architecture not in _LISTED:
            from orla.architectures.base import architecture as made

            return sizes(made(architecture, hidden, n_in, n_out))
        gates, state, cache = (factor * hidden for factor in _LISTED[architecture])
        return _linear(gates, state, cache, hidden, n_in, n_out)
    a = architecture
    if hasattr(a, "gates"):
        return _linear(a.gates, a.state_size, a.cache_size, a.hidden, a.n_in, a.n_out)
    recurrent = sum(math.prod(shape) for shape in a.recurrent_shapes().values())
    return Sizes(
        shapes=tuple(a.shapes().values()),
        recurrent=recurrent,
        state=a.state_size,
        tape=a.state_size + a.n_in,
        local=recurrent,
        history=recurrent,
        kept=a.state_size + a.n_in,
        n_in=a.n_in,
        n_out=a.n_out,
    )


def _linear(gates: int, state: int, cache: int, hidden: int, n_in: int, n_out: int) -> Sizes:
    return Sizes(
        shapes=((gates, n_in), (gates, hidden), (gates,), (n_out, hidden), (n_out,)),
        recurrent=gates * (n_in + hidden + 1),
        state=state,
        tape=cache + hidden + n_in,
        local=gates,
        history=gates * hidden,
        kept=state // hidden * (gates + state) + n_in + hidden + 1,
        n_in=n_in,
        n_out=n_out,
    )


def block_length(state: int) -> int:
    """Steps a block of exact RTRL: the cheapest for a state of that length, as measured."""
    return 32 if state <= 48 else 48 if state <= 192 else 64


def optimizer_numbers(optimizer: str, sizes: Sizes) -> int:
    """Numbers of a model's optimizer state. Raises OrlaError for an optimizer it does not know."""
    if optimizer in ("sgd", "lars"):
        return 0
    if optimizer == "adam":
        return 2 * sizes.parameters + 4
    if optimizer == "adafactor":
        return 2 + sum(sum(s) if len(s) == 2 else math.prod(s) for s in sizes.shapes)
    raise OrlaError(
        f"memory: the state of optimizer {optimizer!r} is not known; add it to memory.py"
    )


@dataclass(frozen=True)
class Held:
    """Numbers of one model that a learner holds.

    carry: Between two updates; for exact RTRL without its sensitivities.
    sensitivity: Exact RTRL's P.
    tapes: All steps of one update, as derivatives keep them.
    """

    carry: int
    sensitivity: int = 0
    tapes: int = 0


def learner_numbers(learner: str, sizes: Sizes, block: int) -> Held:
    """Numbers of a model that `learner` holds; `block` steps a block of exact RTRL.

    Raises OrlaError for a learner it does not know.
    """
    # A step's losses, readout gradient and cotangent are kept with its tape.
    step = sizes.tape + sizes.local + sizes.readout + 1
    if learner == "rtrl":
        return Held(
            carry=sizes.state + block * (sizes.kept + sizes.history),
            sensitivity=sizes.recurrent * sizes.state,
            tapes=block * sizes.state * sizes.local,
        )
    if learner in ("immediate", "last-layer"):
        return Held(carry=sizes.state)
    if match := re.fullmatch(r"immediate-([1-9]\d*)", learner):
        return Held(carry=sizes.state, tapes=int(match[1]) * step)
    if match := re.fullmatch(r"tbptt-([1-9]\d*)-([1-9]\d*)", learner):
        window, stride = int(match[1]), int(match[2])
        past = window - stride
        return Held(
            carry=sizes.state + past * sizes.state,
            tapes=stride * (step + 2 * sizes.state) + past * (sizes.tape + sizes.local),
        )
    raise OrlaError(f"memory: what learner {learner!r} holds is not known; add it to memory.py")


def snapshots(seeds: int, learning_rates: Sequence[float], horizons: Sequence[int]) -> int:
    """Models that a sweep keeps as they stood at a horizon, until its rate is selected."""
    return seeds * len(learning_rates) * len(horizons)


# Learners whose updates are part of the loop over steps.
_IN_LOOP = ("immediate", "last-layer", "rtrl")


def _copies(learner: str) -> int:
    """Copies of parameters and optimizer state alive at once, measured.

    A loop changes them in place, beside the networks' own, the gradient and the update; where
    updates are made apart they write new ones. Sensitivities and tapes exist once. A window of one
    step is taken for any other window.
    """
    return 3 if learner in _IN_LOOP else 5


def components(
    architecture: Any,
    learner: str,
    optimizer: str,
    *,
    hidden: int = 64,
    n_in: int = 40,
    n_out: int = 2,
    models: int = 5,
    precision: str = "float64",
    steps: int = LONGEST,
    block: int | None = None,
    snapshots: int = 0,
) -> dict[str, int]:
    """Bytes of a sweep job, by what they are for; "fixed" is what an empty job would take.

    Args:
        architecture: Its name, or an Architecture (then the three sizes are its own).
        learner, optimizer: Their names.
        hidden, n_in, n_out: Units, inputs and outputs.
        models: Models computed together.
        precision: "float64" or "float32".
        steps: Steps of session B, the longest stream of the job; by default LONGEST.
        block: Steps a block of exact RTRL; the learner's own choice by default.
        snapshots: Models that are kept as they stood at a horizon, from `snapshots`.

    Raises:
        OrlaError: A name is unknown.
    """
    if precision not in BYTES:
        raise OrlaError(f"precision {precision!r} is unknown; choose one of {sorted(BYTES)}")
    s = sizes(architecture, hidden, n_in, n_out)
    held = learner_numbers(learner, s, block or block_length(s.state))
    each = models * BYTES[precision]
    return {
        "parameters": _copies(learner) * s.parameters * each,
        "optimizer": _copies(learner) * optimizer_numbers(optimizer, s) * each,
        "carry": held.carry * each,
        "sensitivity": held.sensitivity * each,
        "tapes": held.tapes * each,
        # The stream in float64 and in the study's precision; outputs and errors a model.
        "streams": 2 * steps * (s.n_in + s.n_out) * 8 + steps * models * (4 * s.n_out + 4) * 8,
        "snapshots": snapshots * (s.parameters + s.state) * BYTES[precision],
        "fixed": FIXED,
    }


def peak_bytes(architecture: Any, learner: str, optimizer: str, **sizes: Any) -> int:
    """Peak memory of a sweep job in bytes; arguments and errors as those of `components`."""
    return sum(components(architecture, learner, optimizer, **sizes).values())


# What a step of a whole batch may go through on a CPU: from beyond the cache it takes two to three
# times as long (measured: LSTM of 64 units with Adam, 25 at once against 5).
_CACHE = 8_000_000


def batch_models(
    architecture: Any,
    learner: str,
    optimizer: str,
    *,
    most: int,
    memory_mb: float | None = None,
    device: str = "cpu",
    **sizes: Any,
) -> int:
    """How many models to compute together: `most`, or as many as cache and memory hold.

    Args:
        architecture, learner, optimizer, sizes: As for `components`.
        most: Models, at most.
        memory_mb: What the job may take; None for no limit.
        device: Where the models are computed; only a CPU's cache is heeded.

    Returns:
        At least 1. A learner or optimizer whose memory is not known here gets `most`.

    Raises:
        OrlaError: Not even one model fits into `memory_mb`.
    """
    try:
        one = components(architecture, learner, optimizer, models=1, **sizes)
    except OrlaError:
        return most
    if device == "cpu":
        most = max(1, min(most, _CACHE // _touched(one, learner)))
    if memory_mb is None:
        return most
    for models in range(most, 0, -1):
        if peak_bytes(architecture, learner, optimizer, models=models, **sizes) <= memory_mb * 1e6:
            return models
    raise OrlaError(
        f"memory: one model of {learner} with {optimizer} needs {sum(one.values()) / 1e6:.0f} MB"
        f" and the job has {memory_mb:.0f}; give it more:"
        f" --set-resources {'sweep_rtrl' if learner == 'rtrl' else 'sweep'}:mem_mb=..."
    )


def _touched(one: dict[str, int], learner: str) -> int:
    """Bytes of one model that a step goes through: P, and what an update carries, old and new."""
    carried = one["parameters"] + one["optimizer"]
    return one["sensitivity"] + 2 * carried // _copies(learner)


# What a job is given whose learner or optimizer is not known here.
UNKNOWN_MB = 4000


def job_mb(
    architecture: Any,
    learner: str,
    optimizer: str,
    *,
    most: int,
    device: str = "cpu",
    **sizes: Any,
) -> int:
    """Megabytes to ask for a sweep job of batches of at most `most` models, a tenth to spare."""
    names = (architecture, learner, optimizer)
    try:
        models = batch_models(*names, most=most, device=device, **sizes)
        peak = peak_bytes(*names, models=models, **sizes)
    except OrlaError:
        return UNKNOWN_MB
    return math.ceil(1.1 * peak / 1e6)
