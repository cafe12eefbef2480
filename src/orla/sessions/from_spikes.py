"""Streams of two sessions of spikes and positions: edges of bins, counts and mean velocities."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import scipy  # its rooms load when they are first used

from orla.errors import OrlaError
from orla.sessions import clocks
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence, judge_correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.preparation import TARGETS, Preparation
from orla.sessions.session import Session
from orla.sessions.stand_ins import position_jumps, refuse_sentinel_values
from orla.sessions.streams import Streams

_VALUES = "cursor_values"
_MM_PER_M = 1000.0


def prepare_sessions(
    session_a: Session,
    session_b: Session,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
    declared_channels: str | None = None,
    declaring_option: str = "",
) -> Streams:
    """The streams of two sessions, by `bin_pair` and `prepare_binned`, of which errors are too."""
    a, b, match = bin_pair(session_a, session_b, preparation, declared_channels, declaring_option)
    return prepare_binned(a, b, match, preparation, tail_steps=tail_steps, dataset=dataset)


def bin_pair(
    session_a: Session,
    session_b: Session,
    preparation: Preparation,
    declared_channels: str | None = None,
    declaring_option: str = "",
) -> tuple[Binned, Binned, Correspondence]:
    """Both sessions in bins, and whether their channels are the same: declared, or proved.

    `declared_channels` is "same" or "different" where the user says so, by the key
    `declaring_option` of the config. OrlaError: as `bin_session`; series of other names or units.
    """
    days = session_a, session_b
    for name in ("cursor", "unit"):
        of_a, of_b = (getattr(session, name) for session in days)
        if of_a != of_b:
            raise OrlaError(
                f"{session_b.name}: its {name} is {of_b}, but {of_a} in {session_a.name}; "
                "name one series of both as nwb.cursor"
            )
    if session_a.about_series != session_b.about_series:
        print(
            f"the series of the two days differ in what their files say: {session_a.name}: "
            f"{session_a.about_series}; {session_b.name}: {session_b.about_series}",
            file=sys.stderr,
        )
    a, b = (bin_session(session, preparation) for session in days)
    if declared_channels == "same" and all(len({*s.channels}) == len(s.channels) for s in days):
        # Declared the same, channels need no array of one name.
        a.keys, b.keys = ([("", name) for name in session.channels] for session in days)
    return a, b, replace(judge_correspondence(*days, declared_channels), option=declaring_option)


def bin_session(session: Session, preparation: Preparation) -> Binned:
    """Counts and velocities of a session in bins; a gap in the recording ends a stretch of bins.

    OrlaError: no such target, samples farther apart than bins, a session too short, or less of it
    left than `preparation.least_kept`.
    """
    signal, bin_s, lag_s = preparation.target.signal, preparation.bin_s, preparation.target.lag_s
    is_values = signal == "cursor" and _VALUES in session.behavior
    name = _VALUES if is_values else TARGETS[signal]
    if name not in session.behavior:
        names = ", ".join(sorted(session.behavior)) or "none"
        raise OrlaError(
            f"{session.name}: no {name} (there is {names}); choose another target in the config"
        )
    values, time_s = session.behavior[name], session.time_s
    usual = float(np.median(np.diff(time_s)))
    if usual > 1.001 * bin_s:
        clock = ", unless the clock is not in seconds" if usual >= clocks.SLOW_S else ""
        raise OrlaError(
            f"{session.name}: samples of {session.cursor} are {usual:g} s apart, more than a bin of"
            f" {bin_s:g} s; set preparation.bin_s to {usual:g} or more{clock}"
        )
    jumps = np.zeros(len(values), bool) if is_values else position_jumps(values, usual)
    pieces, seconds_dropped, holes = _split_at_gaps(
        session, values, jumps, max(bin_s, 1.5 * usual), usual
    )
    refuse_sentinel_values(f"{session.name}: {session.cursor}", values[np.concatenate(pieces)])
    counts, targets, begins, duration = [], [], [], 0.0
    for piece in pieces:
        if jumps[piece[0]] and not np.ptp(values[piece], axis=0).any():
            continue  # a number that stands for lost samples
        duration += float(time_s[piece[-1]] - time_s[piece[0]])
        edges = unshifted_bin_edges(time_s[piece], bin_s, lag_s)
        if len(edges) < 2:
            continue
        counts.append(channel_counts(session, edges, preparation.units))
        place, factor = values[piece], 1.0
        if is_values:  # the mean of a series over a bin is the velocity of its integral
            place = scipy.integrate.cumulative_trapezoid(place, time_s[piece], axis=0, initial=0)
            factor = 1e-3
        targets.append(factor * bin_velocities_mm_s(time_s[piece], place, edges + lag_s))
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
    inputs = np.concatenate(counts) if len(counts) > 1 else counts[0]  # large: no copy
    columns = range(values.shape[1])
    axes = "xyz"[: len(columns)] if len(columns) <= 3 else columns
    outputs = [f"velocity {axis}" for axis in axes]
    if is_values:
        outputs = [f"{session.cursor} column {i}" for i in columns]
    account = {"seconds": round(whole, 3), "seconds_dropped": seconds_dropped, "bridged": holes}
    account |= {"jumps": int(np.count_nonzero(jumps)), "source": session.source}
    account |= _spike_account(session, preparation, int(inputs.sum()))
    return Binned(
        inputs,
        np.concatenate(targets),
        bin_s,
        np.concatenate(begins) if len(begins) > 1 else None,
        name=session.name,
        keys=list(zip(session.arrays, session.channels, strict=True)),
        columns=[f"channel '{channel}'" for channel in session.channels],
        outputs=outputs,
        about={"units": preparation.units, "target": signal, "lag_s": lag_s},
        account=account,
    )


def _split_at_gaps(
    session: Session, values: np.ndarray, jumps: np.ndarray, longest_hole_s: float, sample_s: float
) -> tuple[list[np.ndarray], dict[str, float], int]:
    """Samples (indices) of each stretch without a gap; seconds left out by reason; holes bridged.

    A gap is a hole of more than `longest_hole_s` between samples that are numbers, time that the
    file itself leaves out, or a jump of the position.
    """
    time_s, interval, seconds_dropped = session.time_s, session.left_out_interval_index(), {}
    for i, (reason, *_) in enumerate(session.left_out, start=1):
        samples = int(np.count_nonzero(interval == i))
        seconds_dropped[reason] = seconds_dropped.get(reason, 0.0) + sample_s * samples
    whole = np.flatnonzero(np.isfinite(values).all(axis=1) & (interval == 0))
    if len(whole) < 2:
        lost = np.flatnonzero(np.isnan(values).all(axis=0)).tolist()
        reasons = ", ".join(why for why, s in seconds_dropped.items() if s) or "positions are NaN"
        reasons += f"; column {lost[0]} is NaN throughout: see nwb.columns" if lost else ""
        raise OrlaError(
            f"{session.name}: no two samples at which position and all units were recorded are "
            f"left ({reasons}); mend these, or use another file"
        )
    times = time_s[whole]
    steps = np.diff(times)
    breaks = (steps > longest_hole_s) | (np.diff(np.cumsum((interval > 0) | jumps)[whole]) > 0)
    for reason, start, _ in session.left_out:  # those without a sample lie between two
        after = np.searchsorted(times, start)
        if 0 < after < len(times) and not breaks[after - 1]:
            breaks[after - 1] = True
            seconds_dropped[reason] += float(steps[after - 1])
    holes = int(np.count_nonzero((steps > 1.5 * sample_s) & ~breaks))
    return np.split(whole, np.flatnonzero(breaks) + 1), seconds_dropped, holes


def _spike_account(session: Session, preparation: Preparation, in_bins: int) -> dict[str, Any]:
    """Fields of an `Account`: units, spikes, and why some spikes are in no step."""
    by_reason, trains = dict(session.spikes_dropped), session.unit_spikes
    total = sum(by_reason.values()) + sum(map(len, trains))
    if preparation.units == "sorted":
        trains = [x for x, s in zip(trains, session.unit_sorted, strict=True) if s]
        by_reason["not sorted"] = sum(map(len, session.unit_spikes)) - sum(map(len, trains))
    slack = _rounding_error_s(session.time_s)
    limits = session.time_s[[0, -1]] + [-slack, slack]
    inside = sum(int(np.diff(np.searchsorted(x, limits))[0]) for x in trains)
    by_reason["outside the positions' times"] = sum(map(len, trains)) - inside
    by_reason["in seconds dropped"] = inside - in_bins
    drops = {why: n for why, n in by_reason.items() if n}
    return {"units": len(trains), "spikes": total, "spikes_dropped": drops}


def _rounding_error_s(time_s: np.ndarray) -> float:
    """Seconds by which a computed time may miss the same time as it is stored."""
    return 4 * float(np.spacing(np.abs(time_s[[0, -1]]).max()))


def unshifted_bin_edges(time_s: np.ndarray, bin_s: float, lag_s: float = 0.0) -> np.ndarray:
    """Edges of the bins of a session, in seconds, (bins + 1,).

    Bins are half-open, start at the first sample, and are kept where both the bin and the bin moved
    by `lag_s` lie within the time base.
    """
    start, stop = float(time_s[0]), float(time_s[-1])
    # A time base that ends a rounding error short of an edge still holds that bin.
    slack = max(1e-6 * bin_s, _rounding_error_s(time_s))
    count = int(np.floor((stop - start + slack) / bin_s))
    edges = start + bin_s * np.arange(count + 1)
    inside = (edges + lag_s >= start - slack) & (edges + lag_s <= stop + slack)
    return edges[inside]


def channel_counts(session: Session, edges: np.ndarray, units: str = "all") -> np.ndarray:
    """Events of each channel in each bin [edge_i, edge_i+1): int32 (bins, channels).

    An event a rounding error before an edge is on the edge: the edges are computed too.
    """
    counts = np.zeros((len(edges) - 1, len(session.channels)), dtype=np.int32)
    edges = edges - _rounding_error_s(edges)
    for spikes, channel, is_sorted in zip(
        session.unit_spikes, session.unit_channel, session.unit_sorted, strict=True
    ):
        if units == "all" or is_sorted:
            counts[:, channel] += np.diff(np.searchsorted(spikes, edges, side="left"))
    return counts


def bin_velocities_mm_s(
    time_s: np.ndarray, position_m: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """Mean velocity over each bin in mm/s, (bins, d), of positions (k, d) in metres.

    It is the difference of the position, interpolated linearly, at the two edges over the width.
    """
    at_edges = np.column_stack([np.interp(edges, time_s, column) for column in position_m.T])
    return _MM_PER_M * np.diff(at_edges, axis=0) / np.diff(edges)[:, None]
