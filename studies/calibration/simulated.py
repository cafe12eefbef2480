"""Magnitudes of simulated sessions, made in memory, at given settings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import magnitudes
import numpy as np
import yaml

from orla import catalogue
from orla.sessions.from_spikes import (
    bin_velocities_mm_s,
    channel_counts,
    prepare_sessions,
    unshifted_bin_edges,
)
from orla.sessions.session import Session
from orla.sessions.simulator import Settings
from orla.sessions.simulator.days import simulate_both_days
from orla.sessions.streams import Streams
from orla.tasks.recordings import Recordings

ROOT = Path(__file__).parents[2]
SPLIT = "80-20"
ALL_CHANNELS_LAGS = 5
ACROSS_LAGS = 10


def task_of(config: Path) -> Recordings:
    """The recordings of a study's config."""
    options = yaml.safe_load(config.read_text(encoding="utf-8"))["tasks"]["recordings"]
    return catalogue.make("task", options)


def changed(given: Settings, values: dict[str, float]) -> Settings:
    """Settings with other values, by keys such as ``drift.lost``."""
    for key, value in values.items():
        part, name = key.split(".")
        given = replace(given, **{part: replace(getattr(given, part), **{name: value})})
    return given


def written_changes(changes: Sequence[str]) -> dict[str, float]:
    """Values of changes such as ``drift.lost=0.5``."""
    return {key: yaml.safe_load(value) for key, value in (each.split("=") for each in changes)}


def sessions(given: Settings) -> list[tuple[Session, int]]:
    """Both simulated sessions with their numbers of reaches, without files between."""
    made = []
    for name, (reaching, spikes) in zip("AB", simulate_both_days(given), strict=True):
        units = [
            (channel, cell, times)
            for channel, cells in enumerate(spikes)
            for cell, times in enumerate(cells)
            if len(times)
        ]
        session = Session(
            name=f"session {name}",
            channels=[f"M1 {i + 1:03d}" for i in range(given.array.n_channels)],
            unit_spikes=[times for _, _, times in units],
            unit_channel=np.array([channel for channel, _, _ in units]),
            unit_sorted=np.array([cell > 0 for _, cell, _ in units]),
            time_s=reaching.t,
            behavior={"cursor_pos": reaching.cursor_mm / 1000},
        )
        made.append((session, reaching.reaches))
    return made


def streams_of(a: Session, b: Session, task: Recordings) -> Streams:
    """The study's streams of two sessions."""
    tail = task.parts.tail_steps
    return prepare_sessions(a, b, task.preparation, tail_steps=tail, dataset={"simulated": True})


def measured(
    given: Settings, task: Recordings, lags: Sequence[int] = magnitudes.LAGS
) -> tuple[dict[str, float], Streams]:
    """All magnitudes of both sessions, those of targets.yaml among them; and their streams.

    `lags` are those of the decoders within a session; `magnitudes.RATIO_TO` is one of them.
    """
    (a, reaches_a), (b, reaches_b) = sessions(given)
    bin_s = task.preparation.bin_s
    found: dict[str, float] = {"reaches A": reaches_a, "reaches B": reaches_b}
    streams = streams_of(a, b, task)
    for side, session, stream in (("A", a, streams.a), ("B", b, streams.b)):
        edges = unshifted_bin_edges(session.time_s, bin_s)
        counts = channel_counts(session, edges)
        velocity = bin_velocities_mm_s(session.time_s, session.behavior["cursor_pos"], edges)
        of_all = magnitudes.r2_by_lags(np.sqrt(counts), velocity, (ALL_CHANNELS_LAGS,))
        found[f"R2 {side}, all channels"] = float(of_all[ALL_CHANNELS_LAGS].mean())
        by_lags = magnitudes.r2_by_lags(stream.X, stream.Y, lags)
        for n, value in by_lags.items():
            found[f"R2 {side}, {n} lags"] = float(value.mean())
            share = value.mean() / by_lags[magnitudes.RATIO_TO].mean()
            found[f"R2 {side}, {n} lags over {magnitudes.RATIO_TO}"] = float(share)
        for name, value in magnitudes.of_session(counts, velocity, bin_s).items():
            # A value an output: the mean of both. A value a channel: the median.
            one = np.mean if len(value) == velocity.shape[1] else np.median
            found[f"{name} {side}"] = float(one(value))
    across = magnitudes.across_days(task.cut(streams, SPLIT), ACROSS_LAGS)
    return found | {f"ridge {name}": value for name, value in across.items()}, streams
