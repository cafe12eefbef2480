"""Checks of recordings; each error names the variable, and `orla.errors.naming` the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.files import MOST_BYTES


def require_distinct(variable: str, names: Sequence[str]) -> None:
    """Raise an OrlaError where two channels have one name; sessions are matched by names."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise OrlaError(f"{variable}: two channels are called '{twice[0]}'; give each its own name")


def require_size(variable: str, array: h5py.Dataset | np.ndarray) -> None:
    """Raise an OrlaError where an array, before it is read, takes more than MOST_BYTES."""
    size = int(np.prod(array.shape, dtype=float)) * array.dtype.itemsize
    if size > MOST_BYTES:
        raise OrlaError(
            f"{variable}: {size / 2**30:.1f} GiB, more than the {MOST_BYTES >> 30} GiB "
            "that are read at most; check the file, or cut the recording"
        )


def require_ascending(variable: str, times_s: np.ndarray) -> None:
    """Raise an OrlaError unless the event times (seconds) are finite and never step back."""
    bad = np.flatnonzero(~np.isfinite(times_s))
    if bad.size:
        raise OrlaError(
            f"{variable}: event {bad[0] + 1} has no finite time; remove the events without a time"
        )
    back = np.flatnonzero(np.diff(times_s) < 0)
    if back.size:
        raise OrlaError(
            f"{variable}: event times are not in ascending order (event {back[0] + 2} at "
            f"{times_s[back[0] + 1]:g} s follows {times_s[back[0]]:g} s); sort them"
        )


def require_inside(variable: str, times_s: np.ndarray, time_s: np.ndarray, drop: str) -> None:
    """Raise an OrlaError unless ascending event times lie within the time base (both seconds).

    `drop` names, for the message, the setting that drops the events outside instead.
    """
    if times_s.size and (times_s[0] < time_s[0] or times_s[-1] > time_s[-1]):
        worst = times_s[0] if times_s[0] < time_s[0] else times_s[-1]
        raise OrlaError(
            f"{variable}: an event at {worst:g} s lies outside the time base "
            f"({time_s[0]:g} to {time_s[-1]:g} s); check that both are in seconds on one clock, "
            f"or {drop} to drop the events outside"
        )


def require_finite(variable: str, values: np.ndarray, time_s: np.ndarray) -> None:
    """Raise an OrlaError unless every row of (k, d) values is finite."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise OrlaError(
            f"{variable}: {bad.size} of {len(values)} samples are NaN or infinite "
            f"(the first at {time_s[bad[0]]:g} s); cut the recording there or fill them in"
        )


def require_steady(variable: str, time_s: np.ndarray, step_s: float, tolerance_s: float) -> None:
    """Raise an OrlaError unless the time base (k,) advances by step_s within tolerance_s."""
    if not np.isfinite(time_s).all():
        raise OrlaError(f"{variable}: the time base holds NaN; restore the sample times")
    steps = np.diff(time_s)
    bad = np.flatnonzero(np.abs(steps - step_s) > tolerance_s)
    if bad.size:
        raise OrlaError(
            f"{variable}: the time base has {bad.size} gaps: after {time_s[bad[0]]:g} s it "
            f"advances by {1000 * steps[bad[0]]:g} ms, not {1000 * step_s:g} ms; "
            "cut the recording to a stretch without gaps"
        )
