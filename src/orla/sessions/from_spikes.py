"""Streams of two sessions of spikes and positions."""

from __future__ import annotations

from typing import Any

from orla.errors import OrlaError
from orla.sessions.binning import bin_edges, bin_velocities, channel_counts
from orla.sessions.channels import same_channels
from orla.sessions.parts import pretraining_steps
from orla.sessions.preparation import TARGETS, Preparation, columns_of, inputs_of, kept
from orla.sessions.scaling import Pair, scaled
from orla.sessions.session import Session
from orla.sessions.streams import Streams
from orla.tasks.stream import Stream


def prepare(
    session_a: Session,
    session_b: Session,
    preparation: Preparation,
    *,
    tail_steps: int | float,
    dataset: dict[str, Any],
) -> Streams:
    """Make the streams of two sessions of one array; channels are matched by name.

    Args:
        session_a: the session to pretrain on; behavior in metres, times in seconds.
        session_b: the session to adapt to.
        preparation: how to bin and reduce.
        tail_steps: A's tail, as in `parts.parts`; nothing is fitted on it.
        dataset: name, source, simulated, label; "features" (a description) and "kept" (how much
            was kept) are added.

    Returns:
        Streams with X (steps, features.count) and Y (steps, 2), float64.

    Raises:
        OrlaError: fewer channels than inputs, a constant channel or target, a session too short, a
            channel that B lacks, cursors from different series; the message names the session and
            the mend.
    """
    if preparation.features.of == "own":
        raise OrlaError(
            'config: preparation.features.of is "own", but these recordings have the same channels '
            "by name; leave of out"
        )
    if session_a.cursor != session_b.cursor:
        raise OrlaError(
            f"{session_b.name}: its cursor is the series {session_b.cursor}, but "
            f"{session_a.cursor} in {session_a.name}; name one series of both as nwb.cursor"
        )
    counts_a, velocity_a = _binned(session_a, preparation)
    counts_b, velocity_b = _binned(session_b, preparation)
    n_pretraining = pretraining_steps(len(counts_a), tail_steps)
    columns_a = columns_of(counts_a[:n_pretraining], preparation.features, session_a.name)
    names = [session_a.channels[i] for i in columns_a]
    columns_b = same_channels(session_a, session_b, names)
    inputs = inputs_of(
        (counts_a[:, columns_a], counts_b[:, columns_b]),
        [f"channel '{name}'" for name in names],
        n_pretraining,
        preparation,
        (session_a.name, session_b.name),
    )
    named = ("velocity x", "velocity y")
    targets = scaled((velocity_a, velocity_b), n_pretraining, named, session_a.name)
    a, b = Stream(inputs[0], targets[0]), Stream(inputs[1], targets[1])
    record = {
        "features": {
            "reduction": preparation.features.method,
            "transform": preparation.transform,
            "channels": names,
            "units": preparation.units,
            "target": preparation.target.signal,
            "lag_s": preparation.target.lag_s,
            "fitted_on": "pretraining part of session A",
        },
        "kept": {
            side: kept(stream, len(names), len(session.channels)) | {"recording": session.source}
            for side, stream, session in (("a", a, session_a), ("b", b, session_b))
        },
    }
    return Streams(a, b, preparation.bin_s, dataset | record)


def _binned(session: Session, preparation: Preparation) -> Pair:
    """Counts (bins, channels) and velocities (bins, 2) of a session."""
    bin_s, lag_s = preparation.bin_s, preparation.target.lag_s
    edges = bin_edges(session.time_s, bin_s, lag_s)
    if len(edges) < 3:
        raise OrlaError(
            f"{session.name}: too short: {session.time_s[-1] - session.time_s[0]:.3f} s gives "
            f"{max(len(edges) - 1, 0)} bins of {bin_s} s at a lag of {lag_s} s; "
            "lower bin_s or the lag, or take a longer session"
        )
    name = TARGETS[preparation.target.signal]
    if name not in session.behavior:
        known = ", ".join(sorted(session.behavior)) or "none"
        raise OrlaError(
            f"{session.name}: no {name} (there is {known}); choose another target in the config"
        )
    counts = channel_counts(session, edges, preparation.units)
    return counts, bin_velocities(session.time_s, session.behavior[name], edges + lag_s)
