"""The time that an NWB file itself excludes: invalid_times, obs_intervals of units, trials."""

from __future__ import annotations

import sys

import numpy as np
import pynwb
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks


def excluded_intervals(
    file: pynwb.NWBFile, units: Units, time_s: np.ndarray, *, trials: bool, by_orla: bool
) -> list[tuple[str, float, float]]:
    """(reason, start, stop) of each interval, ends included, inside the times of the positions.

    Args:
        file: an NWB file.
        units: its units, all of which are to be observed.
        time_s: (k,) times of the positions.
        trials: whether the time between trials is left out.
        by_orla: whether the file was written by `nwb_write`, which puts the reason in the tags.

    Raises:
        OrlaError: no table of trials, or intervals that are not pairs of times.
    """
    intervals = []
    if file.invalid_times is not None:
        tags = [""] * len(file.invalid_times)
        if "tags" in file.invalid_times.colnames:
            tags = [", ".join(map(str, row)) for row in file.invalid_times["tags"][:]]
        for tag, (start, stop) in zip(tags, _rows(file.invalid_times), strict=True):
            reason = tag if by_orla else "invalid_times" + (f" ({tag})" if tag else "")
            intervals.append((reason, start, stop))
    if "obs_intervals" in units.colnames:
        name = "units, obs_intervals"
        observed_by_unit = checks.ragged(name, units["obs_intervals"], len(units))
        if any(x.shape[1:] != (2,) for x in observed_by_unit):
            raise OrlaError(f"{name}: give a start and a stop (s) each")
        distinct = {x.tobytes(): x for x in observed_by_unit if len(x)}
        for spans in distinct.values():
            intervals += [("not all units observed", *gap) for gap in _outside(spans)]
    if trials:
        if file.trials is None:
            raise OrlaError("trials: there is no such table; leave nwb.trials out")
        intervals += [("between trials", *gap) for gap in _outside(_rows(file.trials))]
    elif file.trials is not None:
        print("trials are not used; nwb.trials: true takes what is inside them", file=sys.stderr)
    first, last = time_s[[0, -1]]
    inside = [(why, max(float(a), first), min(float(b), last)) for why, a, b in intervals]
    return [(why, float(start), float(stop)) for why, start, stop in inside if start <= stop]


def _rows(table: pynwb.epoch.TimeIntervals) -> np.ndarray:
    """Start and stop (s) of each interval; one without a stop goes on to the end."""
    columns = [
        checks.seconds(checks.values_of(f"{table.name}, {name}", table[name].data, "fiu", "times"))
        for name in ("start_time", "stop_time")
    ]
    return np.nan_to_num(np.column_stack(columns), nan=np.inf)


def _outside(intervals: np.ndarray) -> list[tuple[float, float]]:
    """What lies between intervals (n, 2), which may touch or overlap; their ends are inside."""
    gaps, end = [], -np.inf
    for start, stop in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        if start > end:
            gaps.append((np.nextafter(end, np.inf), np.nextafter(start, -np.inf)))
        end = max(end, stop)
    return [*gaps, (np.nextafter(end, np.inf), np.inf)]
