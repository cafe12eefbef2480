"""Both simulated days: what the hand did, and the spikes of the array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orla.sessions.simulator.reaches import Reaching, simulate_reaching
from orla.sessions.simulator.settings import Settings
from orla.sessions.simulator.spikes import simulate_spikes
from orla.sessions.simulator.units import units_of_both_days

_SEED_NAME = int.from_bytes(b"orla reaching", "little")

Spikes = list[list[np.ndarray]]


def both_days(settings: Settings) -> Iterator[tuple[Reaching, Spikes]]:
    """The reaches of session A and its spikes (channel, cell: event times in s), then those of B.

    Each part of the simulation has random numbers of its own, so that a change of one part does not
    change the draws of the others.
    """
    task = settings.task
    root = np.random.SeedSequence([_SEED_NAME, settings.seed])
    reach_a, reach_b, population, drift, silence, spikes_a, spikes_b = root.spawn(7)
    units_a, units_b = units_of_both_days(settings, population, drift, silence)
    for duration_s, units, reach_seed, spike_seed in (
        (task.duration_a_s, units_a, reach_a, spikes_a),
        (task.duration_b_s, units_b, reach_b, spikes_b),
    ):
        reaching = simulate_reaching(task, duration_s, np.random.default_rng(reach_seed))
        yield reaching, simulate_spikes(units, reaching, settings, spike_seed)
