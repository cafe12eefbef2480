"""The samples at which all was recorded, and a session's longest stretch without a gap."""

from __future__ import annotations

import sys

import numpy as np
from pynwb.misc import Units

from orla.errors import OrlaError
from orla.sessions import checks
from orla.sessions.nwb_fields import ragged
from orla.sessions.session import Session


def recorded_samples(units: Units, session: Session) -> np.ndarray:
    """(k,) where positions are finite and every unit was observed."""
    time_s = session.time_s
    recorded = np.all([np.isfinite(x).all(axis=1) for x in session.behavior.values()], axis=0)
    if "obs_intervals" not in units.colnames:
        return recorded
    intervals = ragged("units, obs_intervals", units["obs_intervals"], len(units))
    if any(x.shape[1:] != (2,) for x in intervals):
        raise OrlaError("units, obs_intervals: give a start and a stop (s) each")
    distinct = {x.tobytes(): x for x in intervals if len(x)}
    step = np.median(np.diff(time_s))
    for observed in distinct.values():
        seen = np.zeros(len(time_s), dtype=bool)
        for start, stop in observed:
            # Half a step more, so that intervals that touch leave no sample between them.
            first, last = np.searchsorted(time_s, [start - step / 2, stop + step / 2])
            seen[first:last] = True
        recorded &= seen
    return recorded


def _breaks(time_s: np.ndarray) -> np.ndarray:
    """Indices after which the time base has a gap."""
    steps = np.diff(time_s)
    usual = np.median(steps)
    return np.flatnonzero(np.abs(steps - usual) > 0.5 * usual)


def cut_to_longest(session: Session, recorded: np.ndarray) -> None:
    """Cut a session, in place, to its longest stretch recorded without a gap."""
    changes = np.concatenate([_breaks(session.time_s), np.flatnonzero(np.diff(recorded))]) + 1
    edges = np.concatenate([[0], np.unique(changes), [len(recorded)]])
    lengths = np.where(recorded[edges[:-1]], np.diff(edges), 0)
    best = int(np.argmax(lengths))
    if lengths[best] < 2:
        raise OrlaError(
            "no stretch in which position and all units were recorded; use another file"
        )
    kept = slice(edges[best], edges[best + 1])
    whole = session.time_s
    session.time_s = whole[kept]
    session.behavior = {name: values[kept] for name, values in session.behavior.items()}
    first, last = session.time_s[[0, -1]]
    session.unit_spikes = [x[(x >= first) & (x <= last)] for x in session.unit_spikes]
    if (count := len(session.time_s)) == len(whole):
        return
    kept = (
        f"the longest stretch without gaps: {first:g} to {last:g} s of {whole[0]:g} to "
        f"{whole[-1]:g} s, {count} of {len(whole)} samples"
    )
    if 2 * count < len(whole):
        raise OrlaError(
            f"less than half is {kept}; cut the recording to a stretch without gaps and "
            "NaN, or mend obs_intervals where units were observed throughout"
        )
    print(f"{session.name}: kept {kept}", file=sys.stderr)
    session.source += f" Cut to {kept}."


def require_whole(session: Session) -> None:
    """Raise an OrlaError on gaps, NaN, spikes outside the time base, or no spikes at all."""
    time_s = session.time_s
    usual = np.median(np.diff(time_s))
    checks.require_steady("behavior", time_s, usual, 0.5 * usual)
    for name, values in session.behavior.items():
        checks.require_finite(name, values, time_s)
    for channel, times in zip(session.unit_channel, session.unit_spikes, strict=True):
        variable = f"units on {session.channels[channel]}"
        checks.require_inside(variable, times, time_s, "import the file with trim")
    if not any(times.size for times in session.unit_spikes):
        raise OrlaError("units: the session is empty, no unit has a spike; use another")
