"""Streams of simulated pairs of sessions, made in memory: no file is written on the way."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from orla.sessions.from_spikes import prepare_sessions
from orla.sessions.session import Session
from orla.sessions.simulator.days import Reaching, Spikes, simulate_both_days
from orla.sessions.streams import Streams
from orla.tasks.recordings import Recordings
from orla.tasks.swapped import Swapped

_METRES_PER_MM = 1e-3
_METRES_PER_CM = 1e-2


def simulated_streams(task: Recordings, pair: str, study_name: str = "") -> Streams:
    """The streams of a pair of recordings that are simulated; `study_name` is the config's name.

    The dataset record holds, in place of sums of files, the SHA-256 of each session's stream under
    "streams". Where units of one recording are swapped, it is the first session.
    """
    days = simulate_both_days(task.simulation_settings(pair))
    if isinstance(task, Swapped):
        session = _simulated_session(task.recording, task.source, *next(days))
        return task.prepare_streams(pair, iter([session]), task.dataset_record(pair, study_name))
    names = task.pairs[pair].a, task.pairs[pair].b
    a, b = (
        _simulated_session(name, task.source, *day) for name, day in zip(names, days, strict=True)
    )
    tail = task.parts.tail_steps
    streams = prepare_sessions(
        a, b, task.preparation, tail_steps=tail, dataset=task.dataset_record(pair, study_name)
    )
    sums = {
        side: hashlib.sha256(stream.X.tobytes() + stream.Y.tobytes()).hexdigest()
        for side, stream in (("a", streams.a), ("b", streams.b))
    }
    return replace(streams, dataset=streams.dataset | {"streams": sums})


def _simulated_session(name: str, source: str, reaching: Reaching, spikes: Spikes) -> Session:
    """A simulated day in SI units, with the units that have an event."""
    units = [
        (channel, column, times)
        for channel, cells in enumerate(spikes)
        for column, times in enumerate(cells)
        if times.size
    ]
    channels, columns, times = zip(*units, strict=True) if units else ((), (), ())
    return Session(
        name=name,
        channels=[f"M1 {i + 1:03d}" for i in range(len(spikes))],
        unit_spikes=list(times),
        unit_channel=np.array(channels, int),
        unit_sorted=np.array(columns, int) > 0,
        time_s=reaching.t,
        behavior={
            "cursor_pos": _METRES_PER_MM * reaching.cursor_mm,
            "finger_pos": -_METRES_PER_CM * reaching.finger_cm[:, 1:],
            "target_pos": _METRES_PER_MM * reaching.target_mm,
        },
        source=source,
    )
