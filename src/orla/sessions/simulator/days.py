"""Both simulated days: what the hand did, and the spikes of the array.

Spikes of tuned units are inhomogeneous Poisson processes, given behavior and shared latents.
"""

from collections.abc import Iterator

import numpy as np
from scipy.signal import lfilter

from orla.sessions.simulator.reaches import Reaching, simulate_reaching
from orla.sessions.simulator.settings import Settings
from orla.sessions.simulator.units import Units, units_of_both_days

_SEED_NAME = int.from_bytes(b"orla reaching", "little")
_MIN_COLUMNS = 5
_MAX_RATE_HZ = 300.0

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


def simulate_spikes(
    units: Units, reaching: Reaching, settings: Settings, seed: np.random.SeedSequence
) -> Spikes:
    """Event times (s) of every channel: unsorted crossings, sorted units, then empty cells."""
    latents, *seeds = seed.spawn(1 + len(units))
    rates = _rates(units, reaching, settings, np.random.default_rng(latents))
    columns = max(_MIN_COLUMNS, len(settings.array.sorted_shares))
    spikes = [[np.empty(0)] * columns for _ in range(settings.array.n_channels)]
    next_cell = [0] * settings.array.n_channels
    for channel, rate_hz, unit_seed in zip(units.channel.tolist(), rates, seeds, strict=True):
        rng = np.random.default_rng(unit_seed)
        spikes[channel][next_cell[channel]] = _poisson_times(rate_hz, reaching.t, rng)
        next_cell[channel] += 1
    return spikes


def _rates(
    u: Units, reaching: Reaching, settings: Settings, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Rate of each unit (Hz) at every sample, (k,), given the session's behavior and latents."""
    array, drift, hz, t = settings.array, settings.drift, settings.task.sample_hz, reaching.t
    velocity = np.gradient(reaching.cursor_mm, 1 / hz, axis=0) / array.reference_speed_mm_s
    speed = np.hypot(*velocity.T)
    position = reaching.cursor_mm / array.reference_position_mm
    movement_of_all = np.column_stack([velocity, speed - speed.mean(), position])
    fast = ornstein_uhlenbeck(len(t), array.n_fast, array.fast_s * hz, rng)
    slow = ornstein_uhlenbeck(len(t), array.n_slow, array.slow_s * hz, rng)
    # A knot a second is ample for a drift over minutes.
    knots = np.arange(int(np.ceil(len(t) / hz)) + 1) + t[0]
    wander = ornstein_uhlenbeck(len(knots), 2 * len(u), drift.within_s, rng)
    turn, level = np.split(wander, 2, axis=1)
    for i in range(len(u)):
        if np.isneginf(u.log_rate[i]):
            yield np.zeros(len(t))
            continue
        later = np.arange(len(t)) + round(u.lag_s[i] * hz)
        movement = movement_of_all[np.clip(later, 0, len(t) - 1)]  # the ends are held
        angle = u.direction_rad[i] + np.interp(t, knots, drift.within_rotation_rad * turn[:, i])
        log_rate = u.log_rate[i] + np.interp(t, knots, drift.within_baseline * level[:, i])
        log_rate += u.depth[i] * (np.cos(angle) * movement[:, 0] + np.sin(angle) * movement[:, 1])
        log_rate += u.speed[i] * movement[:, 2] + movement[:, 3:] @ u.position[i]
        log_rate += fast @ u.fast[i] + slow @ u.slow[i]
        yield np.exp(np.minimum(log_rate, np.log(_MAX_RATE_HZ)))


def _poisson_times(rate_hz: np.ndarray, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ascending event times of a Poisson process whose rate is constant over each sample."""
    expected = np.concatenate([[0.0], np.cumsum(rate_hz[:-1] * np.diff(t))])
    events = np.sort(rng.random(rng.poisson(expected[-1]))) * expected[-1]
    return np.interp(events, expected, t)


def ornstein_uhlenbeck(
    samples: int, columns: int, time_constant: float, rng: np.random.Generator
) -> np.ndarray:
    """Stationary unit-variance noise (samples, columns); `time_constant` in samples."""
    keep = np.exp(-1.0 / time_constant)
    noise = np.sqrt(1 - keep**2) * rng.standard_normal((samples, columns))
    noise[0] /= np.sqrt(1 - keep**2)
    return lfilter([1.0], [1.0, -keep], noise, axis=0)
