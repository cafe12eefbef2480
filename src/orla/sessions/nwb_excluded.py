"""Time that an NWB file excludes: invalid_times, obs_intervals of units, and between trials."""

import sys
from collections.abc import Sequence

import numpy as np
import pynwb
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks, clocks

# Many observe a unit to the last sample of one trial, and on from the first of the next, at 1 kHz.
_SHORTEST_GAP_S = 0.0011
_OBSERVED = "units, obs_intervals"
# Of the usual time of a unit; one that was observed for less cuts the recording of all.
_LEAST_OBSERVED = 0.5


def observed_intervals(units: Units) -> list[np.ndarray]:
    """Intervals (n, 2) in seconds in which each unit was observed; (0, 2) where it has none."""
    if "obs_intervals" not in units.colnames:
        return [np.empty((0, 2))] * len(units)
    observed_by_unit = checks.read_ragged_rows(_OBSERVED, units["obs_intervals"], len(units))
    if any(x.shape[1:] != (2,) for x in observed_by_unit):
        raise OrlaError(f"{_OBSERVED}: give a start and a stop (s) each")
    return observed_by_unit


def observed_briefly(observed_by_unit: Sequence[np.ndarray]) -> np.ndarray:
    """(units,) bool: units that were observed for less than half of the usual time of a unit."""
    seconds = np.array([abs(np.diff(x)).sum() if len(x) else np.nan for x in observed_by_unit])
    usual = np.median(seconds[np.isfinite(seconds)]) if np.isfinite(seconds).any() else 0.0
    return seconds < _LEAST_OBSERVED * usual


def excluded_intervals(
    file: pynwb.NWBFile,
    observed_by_unit: Sequence[np.ndarray],
    time_s: np.ndarray,
    spikes: Sequence[np.ndarray],
    trials: bool,
    by_orla: bool,
) -> list[tuple[str, float, float]]:
    """(reason, start, stop) of each interval, ends included, inside the times of the positions.

    They are invalid_times, whose tags are the reasons in a file `by_orla`, the time that some unit
    was not observed, and that between `trials` where these are asked for. OrlaError: an interval
    ends before it starts or lacks a time, or most of a table lie outside positions and spikes.
    """
    intervals, events = [], np.concatenate([time_s[[0, -1]], *spikes])
    span = float(events.min()), float(events.max())
    if (table := file.invalid_times) is not None:
        rows = table["tags"][:] if "tags" in table.colnames else [()] * len(table)
        for row, bounds in zip(rows, _interval_bounds(table, span), strict=True):
            tag = ", ".join(map(str, row))
            reason = tag if by_orla else "invalid_times" + (f" ({tag})" if tag else "")
            intervals.append((reason, *bounds))
    for spans in {x.tobytes(): x for x in observed_by_unit if len(x)}.values():
        clocks.check_intervals(_OBSERVED, spans, *span)
        gaps = _gaps_between(spans, time_s, _SHORTEST_GAP_S)
        intervals += [("not all units observed", *gap) for gap in gaps]
    if trials:
        if file.trials is None:
            raise OrlaError("trials: there is no such table; leave nwb.trials out")
        gaps = _gaps_between(_interval_bounds(file.trials, span), time_s)
        intervals += [("between trials", *gap) for gap in gaps]
    elif file.trials is not None:
        print("trials are not used; nwb.trials: true takes what is inside them", file=sys.stderr)
    first, last = time_s[[0, -1]]
    inside = [(why, max(float(a), first), min(float(b), last)) for why, a, b in intervals]
    return [(why, float(start), float(stop)) for why, start, stop in inside if start <= stop]


def _interval_bounds(table: pynwb.epoch.TimeIntervals, span: tuple[float, float]) -> np.ndarray:
    """Start and stop (s) of each interval; the last one without a stop goes on to the end."""
    columns = [
        checks.read_numbers(f"{table.name}, {name}", table[name].data)
        for name in ("start_time", "stop_time")
    ]
    bounds = np.column_stack([*map(clocks.restore_time_decimals, columns)])
    last = bounds[:, 0] == np.max(bounds[:, 0], initial=-np.inf)
    bounds[last & np.isnan(bounds[:, 1]), 1] = np.inf
    clocks.check_intervals(table.name, bounds, *span)
    return bounds


def _gaps_between(
    intervals: np.ndarray, sample_times_s: np.ndarray, shortest_without_sample_s: float = np.inf
) -> list[tuple[float, float]]:
    """Spans between intervals (n, 2), which may touch or overlap; their ends are inside.

    One without a sample counts from a length of `shortest_without_sample_s` on.
    """
    gaps, end = [], -np.inf
    for start, stop in [*intervals[np.argsort(intervals[:, 0], kind="stable")], (np.inf, np.inf)]:
        gap = np.nextafter(end, np.inf), np.nextafter(start, -np.inf)
        samples = np.diff(np.searchsorted(sample_times_s, [gap[0], start]))
        if start > end and (samples or start - end > shortest_without_sample_s):
            gaps.append(gap)
        end = max(end, stop)
    return gaps
