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
    rates = _Rates(units, reaching, settings, np.random.default_rng(latents))
    columns = max(_MIN_COLUMNS, len(settings.array.sorted_shares))
    spikes = [[np.empty(0)] * columns for _ in range(settings.array.n_channels)]
    next_cell = [0] * settings.array.n_channels
    for unit, unit_seed in enumerate(seeds):
        channel = int(units.channel[unit])
        rng = np.random.default_rng(unit_seed)
        spikes[channel][next_cell[channel]] = _poisson_times(rates.rate_hz(unit), reaching.t, rng)
        next_cell[channel] += 1
    return spikes


class _Rates:
    """Rates of the units of one session, given its behavior and its latents."""

    def __init__(
        self, units: Units, reaching: Reaching, settings: Settings, rng: np.random.Generator
    ) -> None:
        array, drift, hz = settings.array, settings.drift, settings.task.sample_hz
        samples = len(reaching.t)
        self.units, self.hz, self.drift, self.t = units, hz, drift, reaching.t
        velocity = np.gradient(reaching.cursor_mm, 1 / hz, axis=0) / array.reference_speed_mm_s
        speed = np.hypot(*velocity.T)
        position = reaching.cursor_mm / array.reference_position_mm
        self.movement = np.column_stack([velocity, speed - speed.mean(), position])
        self.fast = ornstein_uhlenbeck(samples, array.n_fast, array.fast_s * hz, rng)
        self.slow = ornstein_uhlenbeck(samples, array.n_slow, array.slow_s * hz, rng)
        # A knot a second is ample for a drift over minutes.
        self.knots = np.arange(int(np.ceil(samples / hz)) + 1) + reaching.t[0]
        wander = ornstein_uhlenbeck(len(self.knots), 2 * len(units), drift.within_s, rng)
        self.turn, self.level = np.split(wander, 2, axis=1)

    def rate_hz(self, unit: int) -> np.ndarray:
        """Rate of one unit at every sample, (k,)."""
        u, last = self.units, len(self.t) - 1
        if np.isneginf(u.log_rate[unit]):
            return np.zeros(len(self.t))
        later = np.arange(len(self.t)) + round(u.lag_s[unit] * self.hz)
        movement = self.movement[np.clip(later, 0, last)]  # the ends are held
        turn = self.drift.within_rotation_rad * self.turn[:, unit]
        angle = u.direction_rad[unit] + np.interp(self.t, self.knots, turn)
        level = self.drift.within_baseline * self.level[:, unit]
        log_rate = u.log_rate[unit] + np.interp(self.t, self.knots, level)
        log_rate += u.depth[unit] * (
            np.cos(angle) * movement[:, 0] + np.sin(angle) * movement[:, 1]
        )
        log_rate += u.speed[unit] * movement[:, 2] + movement[:, 3:] @ u.position[unit]
        log_rate += self.fast @ u.fast[unit] + self.slow @ u.slow[unit]
        return np.exp(np.minimum(log_rate, np.log(_MAX_RATE_HZ)))


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
