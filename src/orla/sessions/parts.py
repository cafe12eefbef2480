"""The parts of the two sessions: which steps pretraining, learners and scores use.

Session A is a pretraining part and a tail that pretraining never sees; the tail's first stretch is
the stationary control's stream, its last the stationary held-out part. Session B is, for each
split, an adapt part and a held-out part; learning rates are selected inside the adapt part alone.
"""

import math
from dataclasses import dataclass

from orla.catalogue import option
from orla.errors import OrlaError

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Sizes:
    """How the two sessions are cut."""

    cut: int = option(
        200, "Steps of a window: session B is cut at multiples of this many steps.", least=1
    )
    tail_steps: int | float = option(
        6250,
        "Tail of session A that pretraining never sees; a whole number of steps, or a fraction of "
        "the session.",
        above=0,
    )
    tail_stream_steps: int | float = option(
        5000,
        "First part of the tail, the stationary control's stream; the rest is held out. Steps, "
        "or a fraction of the tail.",
        above=0,
    )
    splits: dict[str, float] = option(
        {"50-50": 0.5, "80-20": 0.8},
        "Name of each split, and the fraction of session B it adapts on.",
    )
    selection_fraction: float = option(
        0.8, "Rates are selected by adapting on this fraction of the adapt part.", above=0, most=1
    )


@dataclass(frozen=True)
class Split:
    """Steps that a model learns on, and those that it is scored on, weights frozen.

    `selection_cut` is the step of `adapt` where the selection of rates stops learning and starts
    scoring.
    """

    adapt: slice
    heldout: slice
    selection_cut: int


@dataclass(frozen=True)
class Parts:
    """Slices of the steps of session A and, by the name of a split, of session B."""

    a_pretraining: slice
    a_tail_stream: slice
    a_heldout: slice
    splits: dict[str, Split]


def _size_in_steps(size: int | float, whole: int, name: str) -> int:
    """`size` in steps: an int is steps, a float in (0, 1) a fraction of `whole`."""
    if isinstance(size, int):
        return size
    if not 0 < size < 1:
        raise OrlaError(f"{name}: {size} is not a fraction in (0, 1); give steps as an integer")
    return math.floor(size * whole + _ROUNDING)


def _floor_to_windows(steps: float, window_steps: int) -> int:
    """`steps`, rounded down to a multiple of `window_steps`."""
    return math.floor(steps / window_steps + _ROUNDING) * window_steps


def pretraining_steps(steps_a: int, tail_steps: int | float) -> int:
    """Steps of A's pretraining part; the tail is given in steps or as a fraction of session A."""
    steps = steps_a - _size_in_steps(tail_steps, steps_a, "tail_steps")
    if steps <= 0:
        raise OrlaError(
            f"a_pretraining is empty: session A has {steps_a} steps and tail_steps is "
            f"{tail_steps}; lower tail_steps, or give it as a fraction of the session"
        )
    return steps


def _make_split(name: str, adapt: slice, stop: int, sizes: Sizes) -> Split:
    """The split that adapts to these steps and is scored on those that follow, up to `stop`."""
    steps = adapt.stop - adapt.start
    selection_cut = _floor_to_windows(sizes.selection_fraction * steps, sizes.cut)
    if not 0 < selection_cut < steps:
        side = "learns" if selection_cut == 0 else "scores"
        raise OrlaError(
            f"split {name}: the part on which selection {side} is empty: "
            f"{sizes.selection_fraction:g} of an adapt part of {steps} steps, cut at multiples of "
            f"{sizes.cut}, is {selection_cut}; lower cut or change selection_fraction"
        )
    return Split(adapt, slice(adapt.stop, stop), selection_cut)


def stationary_split(parts: Parts, sizes: Sizes) -> Split:
    """The stationary control: it adapts to A's tail stream and is scored on A's held-out part.

    OrlaError: nothing is left to learn on or to score while rates are selected.
    """
    return _make_split("stationary", parts.a_tail_stream, parts.a_heldout.stop, sizes)


def cut_sessions(steps_a: int, steps_b: int, sizes: Sizes) -> Parts:
    """Cut two sessions, of so many steps each, into the parts of the study.

    A size that is a fraction is rounded down: of the tail's stream and of the splits to a multiple
    of `sizes.cut`. OrlaError where a part would be empty.
    """
    n_pretraining = pretraining_steps(steps_a, sizes.tail_steps)
    tail = steps_a - n_pretraining
    stream = _size_in_steps(sizes.tail_stream_steps, tail, "tail_stream_steps")
    if isinstance(sizes.tail_stream_steps, float):
        stream = _floor_to_windows(stream, sizes.cut)
    if stream == 0:
        raise OrlaError(
            f"a_tail_stream is empty: {sizes.tail_stream_steps} of a tail of {tail} steps is less "
            f"than one window of {sizes.cut}; raise tail_steps or tail_stream_steps, or lower cut"
        )
    if stream >= tail:
        raise OrlaError(
            f"a_heldout is empty: the tail has {tail} steps and tail_stream_steps takes {stream}; "
            "raise tail_steps or lower tail_stream_steps"
        )
    splits, end = {}, n_pretraining + stream
    for name, fraction in sizes.splits.items():
        adapt = _floor_to_windows(fraction * steps_b, sizes.cut)
        if adapt == 0:
            raise OrlaError(
                f"split {name}: the adapt part is empty: {fraction:g} of {steps_b} steps is less "
                f"than one window of {sizes.cut}; lower cut, raise the fraction, or take a longer "
                "session"
            )
        if adapt >= steps_b:
            raise OrlaError(
                f"split {name}: the held-out part is empty: all {steps_b} steps of session B adapt;"
                " lower the fraction"
            )
        splits[name] = _make_split(name, slice(0, adapt), steps_b, sizes)
    return Parts(slice(0, n_pretraining), slice(n_pretraining, end), slice(end, steps_a), splits)
