"""Two simulated sessions written as files of the O'Doherty layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orla.sessions.mat_write import write_session
from orla.sessions.simulator.reaches import simulate_reaching
from orla.sessions.simulator.settings import Settings
from orla.sessions.simulator.spikes import simulate_spikes
from orla.sessions.simulator.units import units_of_both_days

_SEED_NAME = int.from_bytes(b"orla reaching", "little")


def write(path_a: Path | str, path_b: Path | str, settings: Settings) -> None:
    """Simulate both sessions and write them as MATLAB v7.3 files of the O'Doherty layout.

    Args:
        path_a: file of the session to pretrain on.
        path_b: file of the session to adapt to.
        settings: all magnitudes, and the seed. Each part of the simulation has random numbers of
            its own, so that a change of one part does not change the draws of the others.
    """
    task = settings.task
    root = np.random.SeedSequence([_SEED_NAME, settings.seed])
    reach_a, reach_b, population, drift, silence, spikes_a, spikes_b = root.spawn(7)
    units_a, units_b = units_of_both_days(settings, population, drift, silence)
    days = (
        (path_a, task.duration_a_s, units_a, reach_a, spikes_a),
        (path_b, task.duration_b_s, units_b, reach_b, spikes_b),
    )
    names = [f"M1 {i + 1:03d}" for i in range(settings.array.n_channels)]
    for path, duration_s, units, reach_seed, spike_seed in days:
        reaching = simulate_reaching(task, duration_s, np.random.default_rng(reach_seed))
        write_session(
            path,
            chan_names=names,
            t=reaching.t,
            cursor_pos=reaching.cursor_mm,
            finger_pos=reaching.finger_cm,
            target_pos=reaching.target_mm,
            spikes=simulate_spikes(units, reaching, settings, spike_seed),
        )
