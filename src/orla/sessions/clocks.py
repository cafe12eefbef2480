"""Clocks of recordings: times as they are stored, and spikes and positions of one clock."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions.checks import find_runs
from orla.sessions.session import Session

# A clock that starts again does so once or twice a unit, and goes on for a while.
_MOST_RESTARTS, _EVENTS_BETWEEN, _FARTHEST_BACK = 3, 10, 0.05
# Share of the positions' time, at its ends, that may be without a spike.
_MOST_SILENT = 0.05
# Whole seconds without a spike of any of so many units that each would fire in it.
_SILENT_S, _FEWEST_UNITS, _SPIKES_EACH = 5, 8, 3.0
# So many spikes are expected in a silent end that is no chance: none has probability e^-20.
NO_CHANCE = 20.0
_UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "minutes": 1 / 60, "hours": 1 / 3600}
_SLOWEST_SAMPLING_HZ = 5000.0
_COARSEST_S = 1e-3  # that times may be stored in
# Samples so far apart (s), with so few spikes a second of a unit, are of no clock in seconds.
SLOW_S, _FEW_HZ = 0.5, 0.1


def restore_time_decimals(values: Any) -> np.ndarray:
    """Times as float64; those stored in single precision get the decimals that were meant.

    A sample at 0.7 s is 0.699999988 in single precision, which a bin that begins at 0.7 would lose.
    Writers such as pynwb store such numbers in double precision, so the numbers tell, not the type.
    Others, such as multiples of 1/256 s, stay as they are.
    """
    values = np.asarray(values).astype(np.float64)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.array_equal(single, values):
        for decimals in range(3, 7):
            near = np.round(values, decimals)
            if np.array_equal(near.astype(np.float32), single):
                return near
    return values


def convert_stored_times(name: str, values: np.ndarray) -> np.ndarray:
    """Times (s) by `restore_time_decimals`; late ones in single precision are too coarse."""
    most = np.abs(values).max(initial=0.0)
    step = float(np.spacing(np.float32(min(most, 1e38))))
    if step > _COARSEST_S and np.array_equal(values.astype(np.float32), values):
        late = np.abs(values)[np.abs(values) > most / 2]
        # Of a coarser grid, such as 1/128 s, no time needs the last digit.
        if (late / step % 2 == 1).any():
            raise OrlaError(
                f"{name}: times of up to {most:.6g} s are stored in single precision, in steps of "
                f"{1e3 * step:.3g} ms; write them in double precision, or count from the start"
            )
    return restore_time_decimals(values)


def require_sample_times(name: str, time_s: np.ndarray) -> None:
    """Refuse sample times (s) that are not finite, or do not ascend."""
    if not np.isfinite(time_s).all():
        raise OrlaError(f"{name}: not finite and ascending; restore the sample times")
    if (back := np.flatnonzero(np.diff(time_s) <= 0)).size:
        before, after = time_s[back[0] : back[0] + 2]
        if before == after:
            raise OrlaError(
                f"{name}: sample {back[0] + 2}, at {after:.15g} s, has the time of the sample "
                "before; drop one of the two"
            )
        raise OrlaError(
            f"{name}: not finite and ascending: {after:.15g} s follows {before:.15g} s; where the "
            "clock starts again add the first part's length"
        )


def check_intervals(name: str, intervals: np.ndarray, start_s: float, end_s: float) -> None:
    """Refuse intervals (n, 2) in seconds that end before they start or lack a time.

    Where more than half lie outside the recording, `start_s` to `end_s`, they are of another clock;
    fewer are printed.
    """
    start, stop = intervals.T
    if (wrong := np.flatnonzero(~(start <= stop))).size:
        i = wrong[0]
        raise OrlaError(
            f"{name}: interval {i + 1} runs from {start[i]:.15g} to {stop[i]:.15g} s; give it a "
            "start, and a stop that is not earlier"
        )
    n, outside = len(intervals), np.count_nonzero((stop < start_s) | (start > end_s))
    if 2 * outside > n:
        raise OrlaError(
            f"{name}: {outside} of {n} intervals, which start at {start.min():.10g} to "
            f"{start.max():.10g} s, lie outside the recording, {start_s:.10g} to {end_s:.10g} s; "
            "give them in seconds on its clock, or remove them"
        )
    if outside:
        print(
            f"{name}: {outside} of {n} intervals lie outside the recording, {start_s:.10g} "
            f"to {end_s:.10g} s, and are not used",
            file=sys.stderr,
        )


def require_ascending(names: Sequence[str], trains: Sequence[np.ndarray]) -> None:
    """Refuse event times (seconds) that are not finite or step back.

    A clock that starts again, as where two files were joined, is told from events out of order.
    """
    back = []
    for name, times in zip(names, trains, strict=True):
        if (bad := np.flatnonzero(~np.isfinite(times))).size:
            raise OrlaError(
                f"{name}: event {bad[0] + 1} has no finite time; remove the events without a time"
            )
        if (steps := np.flatnonzero(np.diff(times) < 0) + 1).size:
            back.append((name, steps, times))
    if not back:
        return
    farthest = np.median([np.max(times[steps - 1] - times[steps]) for _, steps, times in back])
    span = max(np.ptp(times) for times in trains if times.size)
    starts_again = farthest > _FARTHEST_BACK * span and all(
        len(steps) <= _MOST_RESTARTS and len(times) > _EVENTS_BETWEEN * (len(steps) + 1)
        for _, steps, times in back
    )
    name, steps, times = back[0]
    if starts_again:
        here, there = times[steps - 1].max(), times[steps].min()
        raise OrlaError(
            f"{name}: the clock of {len(back)} of {len(trains)} units starts again, from {here:g} s"
            f" back to {there:g} s; add the time at which the second part begins to its events"
        )
    raise OrlaError(
        f"{name}: event times are not in ascending order (event {steps[0] + 1} at "
        f"{times[steps[0]]:.15g} s follows {times[steps[0] - 1]:.15g} s); sort them"
    )


def require_one_clock(session: Session, most_outside: float, mend: str) -> None:
    """Refuse spikes and positions that cannot be of one clock, or of a clock in seconds.

    At most a share `most_outside` of the spikes may lie outside the positions' times; `mend` names
    the setting that allows more. Only the time that is not left out need have spikes.
    """
    spikes, time_s = np.concatenate([*session.unit_spikes, []]), session.time_s
    if not spikes.size:
        raise OrlaError("spike_times: the session is empty, no unit has a spike; use another")
    first, last = time_s[[0, -1]]
    low, high = spikes.min(), spikes.max()
    outside = np.count_nonzero((spikes < first) | (spikes > last))
    spans = (
        f"spikes run from {low:g} to {high:g} s, positions from {first:g} to {last:g} s: "
        f"{_clock_difference_text(spikes, time_s)}; give both in seconds on one clock, or {mend}"
    )
    if outside > most_outside * len(spikes):
        raise OrlaError(
            f"spike_times: {outside} of {len(spikes)} spikes ({outside / len(spikes):.1%}) lie "
            f"outside the positions' times; {spans}"
        )
    times_inside = time_s[session.left_out_interval_index() == 0]
    first, last = times_inside[[0, -1]] if len(times_inside) > 1 else (first, last)
    silent = max(0.0, 1 - (min(high, last) - max(low, first)) / (last - first))
    if silent > max(most_outside, _MOST_SILENT) and silent * len(spikes) > NO_CHANCE:
        raise OrlaError(f"spike_times: {silent:.1%} of the positions' time has no spike; {spans}")
    usual = np.median(np.diff(time_s))
    rate = len(spikes) / np.count_nonzero([x.size for x in session.unit_spikes]) / np.ptp(time_s)
    if usual >= SLOW_S and rate < _FEW_HZ:
        raise OrlaError(
            f"{session.cursor}: samples are {usual:g} s apart and a unit has {rate:.2g} spikes a "
            "second; the clock is probably not in seconds; give all times of the file in seconds"
        )


def silent_stretches(session: Session) -> list[tuple[str, float, float]]:
    """(reason, start, stop) of time in which no unit fires and many would: recording had paused."""
    first, last = session.time_s[[0, -1]]
    counts = np.zeros((len(session.unit_spikes), max(int(last - first), 1)), dtype=np.int64)
    for row, spikes in zip(counts, session.unit_spikes, strict=True):
        second = (spikes - first).astype(np.int64)
        row += np.bincount(second[(spikes >= first) & (second < len(row))], minlength=len(row))
    fires = counts.any(axis=0)
    rates = counts.sum(axis=1) / max(np.count_nonzero(fires), 1)
    stretches = []
    for start, stop in find_runs(~fires):
        would_fire = np.count_nonzero(rates * (stop - start) >= _SPIKES_EACH)
        if stop - start >= _SILENT_S and would_fire >= _FEWEST_UNITS:
            inside = [np.searchsorted(x, first + start) for x in session.unit_spikes]
            pairs = [*zip(session.unit_spikes, inside, strict=True)]
            before = max((x[i - 1] for x, i in pairs if i), default=first)
            after = min((x[i] for x, i in pairs if i < len(x)), default=last)
            limits = np.nextafter(max(before, first), np.inf), np.nextafter(min(after, last), 0.0)
            stretches.append(("no unit fires", *map(float, limits)))
    return stretches


def _clock_difference_text(spikes: np.ndarray, time_s: np.ndarray) -> str:
    """How two clocks differ, by the spans of their times."""
    ratio = np.ptp(spikes) / np.ptp(time_s)
    for unit, factor in _UNITS.items():
        if 0.5 < ratio / factor < 2:
            return f"they look like {unit}"
    if ratio > _SLOWEST_SAMPLING_HZ:
        return f"they look like numbers of samples at about {ratio:.3g} Hz"
    return f"the clocks may be {spikes.min() - time_s[0]:+.3g} s apart"
