"""Checks of clocks: spike times against each other and against the times of the positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orla.errors import OrlaError
from orla.sessions.session import Session

# A clock that starts again does so once or twice a unit, and goes on for a while.
_MOST_RESTARTS, _EVENTS_BETWEEN, _FARTHEST_BACK = 3, 10, 0.05
# Share of the positions' time, at its ends, that may be without a spike.
_MOST_SILENT = 0.05
# So many spikes are expected in a silent end that is no chance: none has probability e^-20.
_NO_CHANCE = 20.0
_UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "minutes": 1 / 60, "hours": 1 / 3600}
_SLOWEST_SAMPLING_HZ = 5000.0


def require_ascending(names: Sequence[str], trains: Sequence[np.ndarray]) -> None:
    """Raise an OrlaError unless all event times (seconds) are finite and never step back.

    A clock that starts again, as where two files were joined, is told from events out of order.
    """
    back = []
    for name, times in zip(names, trains, strict=True):
        bad = np.flatnonzero(~np.isfinite(times))
        if bad.size:
            raise OrlaError(
                f"{name}: event {bad[0] + 1} has no finite time; remove the events without a time"
            )
        steps = np.flatnonzero(np.diff(times) < 0) + 1
        if steps.size:
            back.append((name, steps, times))
    if not back:
        return
    farthest = np.median([np.max(times[steps - 1] - times[steps]) for _, steps, times in back])
    span = max(np.ptp(times) for times in trains if times.size)
    if farthest > _FARTHEST_BACK * span and all(
        len(steps) <= _MOST_RESTARTS and len(times) > _EVENTS_BETWEEN * (len(steps) + 1)
        for _, steps, times in back
    ):
        at, to = (float(f(t[s - i])) for i, f in ((1, np.max), (0, np.min)) for _, s, t in back[:1])
        raise OrlaError(
            f"{back[0][0]}: the clock of {len(back)} of {len(trains)} units starts again, from "
            f"{at:g} s back to {to:g} s; add the time at which the second part begins to its events"
        )
    name, steps, times = back[0]
    raise OrlaError(
        f"{name}: event times are not in ascending order (event {steps[0] + 1} at "
        f"{times[steps[0]]:g} s follows {times[steps[0] - 1]:g} s); sort them"
    )


def require_one_clock(session: Session, most_outside: float, mend: str) -> None:
    """Raise an OrlaError unless spikes and positions can be of one clock, in seconds.

    Args:
        session: a recording; only the time that it does not leave out need have spikes.
        most_outside: largest share of the spikes that may lie outside the positions' times.
        mend: the setting that allows more.
    """
    spikes, time_s = np.concatenate([*session.unit_spikes, []]), session.time_s
    if not spikes.size:
        raise OrlaError("spike_times: the session is empty, no unit has a spike; use another")
    first, last = time_s[[0, -1]]
    low, high = spikes.min(), spikes.max()
    outside = np.count_nonzero((spikes < first) | (spikes > last))
    spans = (
        f"spikes run from {low:g} to {high:g} s, positions from {first:g} to {last:g} s: "
        f"{_guess(spikes, time_s)}; give both in seconds on one clock, or {mend}"
    )
    if outside > most_outside * len(spikes):
        raise OrlaError(
            f"spike_times: {outside} of {len(spikes)} spikes ({outside / len(spikes):.1%}) lie "
            f"outside the positions' times; {spans}"
        )
    times_inside = time_s[session.interval_index() == 0]
    first, last = times_inside[[0, -1]] if len(times_inside) > 1 else (first, last)
    silent = max(0.0, 1 - (min(high, last) - max(low, first)) / (last - first))
    if silent > max(most_outside, _MOST_SILENT) and silent * len(spikes) > _NO_CHANCE:
        raise OrlaError(f"spike_times: {silent:.1%} of the positions' time has no spike; {spans}")


def _guess(spikes: np.ndarray, time_s: np.ndarray) -> str:
    """How two clocks differ, by the spans of their times."""
    ratio = np.ptp(spikes) / np.ptp(time_s)
    for unit, factor in _UNITS.items():
        if 0.5 < ratio / factor < 2:
            return f"they look like {unit}"
    if ratio > _SLOWEST_SAMPLING_HZ:
        return f"they look like numbers of samples at about {ratio:.3g} Hz"
    return f"the clocks may be {spikes.min() - time_s[0]:+.3g} s apart"
