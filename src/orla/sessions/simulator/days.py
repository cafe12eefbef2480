"""Both simulated days: what the hand did, and the spikes of the array.

The task follows Makin, O'Doherty, Cardoso, Sabes (2018): random targets on a grid one after the
other, no pause between reaches, a hold on the target; reaches are minimum-jerk, and the hand has a
tremor. Spikes of tuned units are inhomogeneous Poisson processes, given behavior and latents.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy  # its rooms load when they are first used

from orla.sessions.simulator import Settings, TaskSettings
from orla.sessions.simulator.units import Units, units_of_both_days

_SEED_NAME = int.from_bytes(b"orla reaching", "little")
_MIN_COLUMNS = 5
_MAX_RATE_HZ = 300.0
_MM_PER_CM = 10.0

Spikes = list[list[np.ndarray]]


@dataclass(frozen=True)
class Reaching:
    """Behavior of a session: t (k,) in s, cursor and target (k, 2), finger (k, 3): z, -x, -y."""

    t: np.ndarray
    cursor_mm: np.ndarray
    target_mm: np.ndarray
    finger_cm: np.ndarray
    reaches: int


def _reach_positions(
    start: np.ndarray, end: np.ndarray, task: TaskSettings, rng: np.random.Generator
) -> np.ndarray:
    """Positions (samples, 2) of one curved minimum-jerk reach (Flash and Hogan 1985)."""
    way = end - start
    duration = task.movement_s + task.movement_s_per_mm * np.hypot(*way)
    duration *= np.exp(task.movement_spread * rng.standard_normal())
    samples = max(2, round(duration * task.sample_hz))
    s = np.arange(1, samples + 1) / samples
    s = s**3 * (10 - 15 * s + 6 * s**2)
    sideways = np.array([-way[1], way[0]]) * task.curvature * rng.standard_normal()
    return start + np.outer(s, way) + np.outer(4 * s * (1 - s), sideways)


def _smooth_noise(
    samples: int, columns: int, sd: float, kernel_sd_samples: float, rng: np.random.Generator
) -> np.ndarray:
    """Smooth Gaussian noise (samples, columns) of the given sd, smoothed by a Gaussian kernel."""
    noise = scipy.ndimage.gaussian_filter1d(
        rng.standard_normal((samples, columns)), kernel_sd_samples, axis=0
    )
    return sd * noise * np.sqrt(2 * np.sqrt(np.pi) * kernel_sd_samples)


def simulate_reaching(task: TaskSettings, duration_s: float, rng: np.random.Generator) -> Reaching:
    """Reaches for `duration_s` seconds, to random points of the grid, none twice running."""
    samples = round(duration_s * task.sample_hz) + 1
    hand, target_mm = np.empty((samples, 2)), np.empty((samples, 2))
    at, reaches, place = 0, -1, np.zeros(2)
    hold, points = round(task.hold_s * task.sample_hz), task.grid_side**2
    point = rng.integers(points)
    while at < samples:
        point = (point + rng.integers(1, points)) % points
        cell = np.array(divmod(point, task.grid_side), dtype=float)
        target = (cell - (task.grid_side - 1) / 2) * task.grid_spacing_mm
        reaction = task.reaction_s * np.exp(task.reaction_spread * rng.standard_normal())
        path = [np.repeat(place[None], round(reaction * task.sample_hz), axis=0)]
        while True:
            end = target + task.scatter_mm * rng.standard_normal(2)
            path.append(_reach_positions(place, end, task, rng))
            place = end
            if np.hypot(*(end - target)) <= task.acceptance_mm:
                break
        path.append(np.repeat(place[None], hold, axis=0))
        steps = np.concatenate(path)[: samples - at]
        hand[at : at + len(steps)] = steps
        target_mm[at : at + len(steps)] = target
        at += len(steps)
        reaches += 1
    smooth = task.tremor_s * task.sample_hz
    cursor = hand + _smooth_noise(samples, 2, task.tremor_mm, smooth, rng)
    height = _smooth_noise(samples, 1, 0.5, 5 * smooth, rng)
    finger = np.column_stack([height, -cursor / _MM_PER_CM])
    t = task.start_s + np.arange(samples) / task.sample_hz
    return Reaching(t, cursor, target_mm, finger, reaches)


def simulate_both_days(settings: Settings) -> Iterator[tuple[Reaching, Spikes]]:
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
    rates = _firing_rates(units, reaching, settings, np.random.default_rng(latents))
    spikes: Spikes = [[] for _ in range(settings.array.n_channels)]
    for channel, rate_hz, unit_seed in zip(units.channel.tolist(), rates, seeds, strict=True):
        rng = np.random.default_rng(unit_seed)
        spikes[channel].append(_poisson_times(rate_hz, reaching.t, rng))
    columns = max(_MIN_COLUMNS, len(settings.array.sorted_shares))
    return [cells + [np.empty(0)] * (columns - len(cells)) for cells in spikes]


def _firing_rates(
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
    expected_counts = np.concatenate([[0.0], np.cumsum(rate_hz[:-1] * np.diff(t))])
    events = np.sort(rng.random(rng.poisson(expected_counts[-1]))) * expected_counts[-1]
    return np.interp(events, expected_counts, t)


def ornstein_uhlenbeck(
    samples: int, columns: int, time_constant_samples: float, rng: np.random.Generator
) -> np.ndarray:
    """Stationary unit-variance noise (samples, columns) that decays within a time constant."""
    keep = np.exp(-1.0 / time_constant_samples)
    noise = np.sqrt(1 - keep**2) * rng.standard_normal((samples, columns))
    noise[0] /= np.sqrt(1 - keep**2)
    return scipy.signal.lfilter([1.0], [1.0, -keep], noise, axis=0)
