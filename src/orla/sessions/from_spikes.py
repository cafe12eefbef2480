"""Streams of two sessions of spikes and positions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid

from orla.errors import OrlaError
from orla.sessions.binned import Binned
from orla.sessions.binning import bin_edges, bin_velocities, channel_counts, rounding_of
from orla.sessions.channels import correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.preparation import TARGETS, Preparation
from orla.sessions.session import Session
from orla.sessions.streams import Streams

_VALUES = "cursor_values"
_AXES = ("velocity x", "velocity y")


def prepare(
    session_a: Session,
    session_b: Session,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
    channels: str | None = None,
    option: str = "",
) -> Streams:
    """Make the streams of two sessions; channels are matched by their array and name.

    Args:
        session_a: the session to pretrain on; behavior in metres, times in seconds.
        session_b: the session to adapt to.
        preparation: how to bin and reduce.
        tail_steps: A's tail, as in `parts.parts`; nothing is fitted on it.
        dataset: name, source, simulated, label; "features" (a description) and "account" (an
            `Account` of each session) are added.
        channels: "same" or "different", where the user says so (`channels.correspondence`).
        option: the key of the config that says so; "" where none does.

    Returns:
        Streams with X (steps, features.count) and Y (steps, outputs), float64.

    Raises:
        OrlaError: as `bin_session` and `prepare_binned`; series of different names or units.
    """
    days = session_a, session_b
    for name, of_a, of_b in (
        ("cursor", session_a.cursor, session_b.cursor),
        ("unit", session_a.unit, session_b.unit),
    ):
        if of_a != of_b:
            raise OrlaError(
                f"{session_b.name}: its {name} is {of_b}, but {of_a} in {session_a.name}; "
                "name one series of both as nwb.cursor"
            )
    a, b = bin_session(session_a, preparation), bin_session(session_b, preparation)
    if channels == "same" and all(len({*s.channels}) == len(s.channels) for s in days):
        # Declared the same, channels need no array of one name.
        a.keys, b.keys = ([("", name) for name in session.channels] for session in days)
    return prepare_binned(
        a,
        b,
        replace(correspondence(session_a, session_b, channels), option=option),
        preparation,
        tail_steps=tail_steps,
        dataset=dataset,
    )


def bin_session(session: Session, preparation: Preparation) -> Binned:
    """Counts and velocities of a session in bins; a gap in the recording ends a stretch of bins.

    Raises:
        OrlaError: no such target, samples farther apart than bins, a session too short, or less of
            it left than `preparation.least_kept`.
    """
    signal, bin_s, lag_s = preparation.target.signal, preparation.bin_s, preparation.target.lag_s
    name = TARGETS[signal]
    if signal == "cursor" and _VALUES in session.behavior:
        name = _VALUES
    if name not in session.behavior:
        names = ", ".join(sorted(session.behavior)) or "none"
        raise OrlaError(
            f"{session.name}: no {name} (there is {names}); choose another target in the config"
        )
    values, time_s = session.behavior[name], session.time_s
    usual = float(np.median(np.diff(time_s)))
    if usual > 1.001 * bin_s:
        raise OrlaError(
            f"{session.name}: samples of {session.cursor} are {usual:g} s apart, more than a bin of"
            f" {bin_s:g} s; set preparation.bin_s to {usual:g} or more"
        )
    pieces, seconds_dropped, holes = stretches(session, values, max(bin_s, 1.5 * usual), usual)
    counts, targets, begins, duration = [], [], [], 0.0
    for piece in pieces:
        duration += float(time_s[piece[-1]] - time_s[piece[0]])
        edges = bin_edges(time_s[piece], bin_s, lag_s)
        if len(edges) < 2:
            continue
        counts.append(channel_counts(session, edges, preparation.units))
        place, factor = values[piece], 1.0
        if name == _VALUES:  # the mean of a series over a bin is the velocity of its integral
            place, factor = cumulative_trapezoid(place, time_s[piece], axis=0, initial=0), 1e-3
        targets.append(factor * bin_velocities(time_s[piece], place, edges + lag_s))
        begins.append(np.arange(len(edges) - 1) == 0)
    whole, steps = float(time_s[-1] - time_s[0]), sum(map(len, begins))
    gaps = whole - duration - sum(seconds_dropped.values())
    seconds_dropped |= {"gaps in the positions": gaps} if len(pieces) > 1 or gaps > usual else {}
    seconds_dropped["no whole bin"] = whole - steps * bin_s - sum(seconds_dropped.values())
    seconds_dropped = {why: round(float(s), 3) for why, s in seconds_dropped.items() if s >= 1e-3}
    if steps < 2:
        raise OrlaError(
            f"{session.name}: too short: {whole:.3f} s gives {steps} bins of {bin_s} s at a lag of "
            f"{lag_s} s; lower bin_s or the lag, or take a longer session"
        )
    if steps * bin_s < preparation.least_kept * whole - bin_s:
        reasons = ", ".join(f"{why}: {s:.1f} s" for why, s in seconds_dropped.items())
        raise OrlaError(
            f"{session.name}: {steps * bin_s:.1f} of {whole:.1f} s are left, in {len(begins)} "
            f"stretches ({reasons}); mend the recording, or lower preparation.least_kept"
        )
    inputs = np.concatenate(counts)
    return Binned(
        inputs,
        np.concatenate(targets),
        bin_s,
        np.concatenate(begins) if len(begins) > 1 else None,
        name=session.name,
        keys=list(zip(session.arrays, session.channels, strict=True)),
        columns=[f"channel '{channel}'" for channel in session.channels],
        outputs=[*_AXES, *(f"{name} {i}" for i in range(2, values.shape[1]))]
        if name != _VALUES
        else [f"{session.cursor} column {i}" for i in range(values.shape[1])],
        about={"units": preparation.units, "target": signal, "lag_s": lag_s},
        account={
            "seconds": round(whole, 3),
            "seconds_dropped": seconds_dropped,
            "bridged": holes,
            "source": session.source,
        }
        | _spikes(session, preparation, int(inputs.sum())),
    )


def stretches(
    session: Session, values: np.ndarray, longest_s: float, usual: float
) -> tuple[list[np.ndarray], dict[str, float], int]:
    """Samples (indices) of each stretch without a gap.

    A gap is a hole of more than `longest_s` between samples that are numbers, or time that the
    file itself leaves out.

    Returns:
        The stretches; seconds that the file leaves out, by reason; how many holes are bridged.

    Raises:
        OrlaError: no two samples are left.
    """
    time_s, interval, seconds_dropped = session.time_s, session.interval_index(), {}
    for i, (reason, *_) in enumerate(session.left_out, start=1):
        seconds_dropped[reason] = seconds_dropped.get(reason, 0.0) + usual * int(
            np.count_nonzero(interval == i)
        )
    whole = np.flatnonzero(np.isfinite(values).all(axis=1) & (interval == 0))
    if len(whole) < 2:
        raise OrlaError(
            f"{session.name}: no two samples at which position and all units were recorded; use "
            "another file"
        )
    steps = np.diff(time_s[whole])
    breaks = (steps > longest_s) | (np.diff(np.cumsum(interval > 0)[whole]) > 0)
    holes = int(np.count_nonzero((steps > 1.5 * usual) & ~breaks))
    return np.split(whole, np.flatnonzero(breaks) + 1), seconds_dropped, holes


def _spikes(session: Session, preparation: Preparation, in_bins: int) -> dict[str, Any]:
    """Of an account: the session's spikes and units, and why spikes are in no step."""
    by_reason, trains = dict(session.spikes_dropped), session.unit_spikes
    total = sum(by_reason.values()) + sum(map(len, trains))
    if preparation.units == "sorted":
        trains = [x for x, s in zip(trains, session.unit_sorted, strict=True) if s]
        n_unsorted = sum(map(len, session.unit_spikes)) - sum(map(len, trains))
        by_reason["not sorted"] = n_unsorted
    slack = rounding_of(session.time_s)
    limits = session.time_s[[0, -1]] + [-slack, slack]
    inside = sum(int(np.diff(np.searchsorted(x, limits))[0]) for x in trains)
    by_reason["outside the positions' times"] = sum(map(len, trains)) - inside
    by_reason["in seconds dropped"] = inside - in_bins
    return {
        "units": len(trains),
        "spikes": total,
        "spikes_dropped": {why: n for why, n in by_reason.items() if n},
    }
