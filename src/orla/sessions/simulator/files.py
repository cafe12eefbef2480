"""Two simulated sessions written as files of the O'Doherty layout."""

from __future__ import annotations

from pathlib import Path

from orla.sessions.mat_write import write_session
from orla.sessions.simulator.days import both_days
from orla.sessions.simulator.settings import Settings


def write(path_a: Path | str, path_b: Path | str, settings: Settings) -> None:
    """Simulate both sessions and write them as MATLAB v7.3 files of the O'Doherty layout.

    Args:
        path_a: file of the session to pretrain on.
        path_b: file of the session to adapt to.
        settings: all magnitudes, and the seed.
    """
    names = [f"M1 {i + 1:03d}" for i in range(settings.array.n_channels)]
    for path, (reaching, spikes) in zip((path_a, path_b), both_days(settings), strict=True):
        write_session(
            path,
            chan_names=names,
            t=reaching.t,
            cursor_pos=reaching.cursor_mm,
            finger_pos=reaching.finger_cm,
            target_pos=reaching.target_mm,
            spikes=spikes,
        )
