"""Simulated sessions of self-paced reaching, written as files of the O'Doherty layout.

A subject reaches for random targets on a grid while an array of 96 electrodes records threshold
crossings and sorted units, on two days between which the recording drifts. The simulation shows
that the study works; it says nothing about the brain. Three magnitudes of `Settings` are calibrated
to published ones (docs/calibration.md); the others are round numbers of the order that the
literature on motor cortex reports.

The task follows Makin, O'Doherty, Cardoso, Sabes (2018): targets one after the other on an 8 x 8
grid, no pause between reaches, a hold on the target. A unit fires as an inhomogeneous Poisson
process whose log rate is linear in the velocity, the speed and the position of the cursor some time
later (Georgopoulos 1982; Moran and Schwartz 1999) and in latents that the array shares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

from orla.errors import OrlaError
from orla.sessions import matfile

SESSION_A = "indy_20160630_01"
SESSION_B = "indy_20170131_02"

_SEED_NAME = int.from_bytes(b"orla reaching", "little")
_MIN_COLUMNS = 5
_MM_PER_CM = 10.0
_MAX_RATE_HZ = 300.0


@dataclass(frozen=True)
class TaskSettings:
    """The reaches. Lengths in mm, times in seconds.

    Attributes:
        duration_a_s, duration_b_s: length of the two sessions.
        start_s: the first sample's time.
        sample_hz: samples of the behavior a second.
        grid_side, grid_spacing_mm: targets lie on a square grid.
        reaction_s, reaction_spread: median reaction time and the sd of its logarithm.
        movement_s, movement_s_per_mm: a reach of d mm takes movement_s + movement_s_per_mm d.
        movement_spread: sd of the logarithm of a reach's duration.
        curvature: sd of a reach's largest sideways excursion over its length.
        scatter_mm: sd of a reach's end point about the target, on each axis.
        acceptance_mm: a reach that ends further off than this is corrected by a second one.
        hold_s: time on the target before the next one appears.
        tremor_mm, tremor_s: sd and time constant of the hand's postural wander.
    """

    duration_a_s: float = 1335.0
    duration_b_s: float = 825.0
    start_s: float = 20.0
    sample_hz: float = 250.0
    grid_side: int = 8
    grid_spacing_mm: float = 15.0
    reaction_s: float = 0.22
    reaction_spread: float = 0.2
    movement_s: float = 0.32
    movement_s_per_mm: float = 0.004
    movement_spread: float = 0.15
    curvature: float = 0.08
    scatter_mm: float = 4.0
    acceptance_mm: float = 7.5
    hold_s: float = 0.45
    tremor_mm: float = 0.5
    tremor_s: float = 0.1


@dataclass(frozen=True)
class ArraySettings:
    """The electrodes and their units. Depths are changes of the log rate.

    Attributes:
        n_channels: electrodes.
        silent: share of channels that record no neuron on a day: no sorted units, and crossings
            that are noise.
        noise_rate: rate of a silent channel's crossings over that of all its units were it not
            silent (a threshold is set anew each day, and noise crosses it too).
        sorted_shares: share of channels with 0, 1, 2, ... sorted units.
        crossings_hz, unit_hz: median baseline rate of unsorted crossings and of sorted units.
        channel_spread, rate_spread: sd of the log baseline rate across channels (impedance and
            threshold, the same on both days) and across units.
        reference_speed_mm_s, reference_position_mm: scale of velocity and position in the tuning.
        velocity_depth: median depth of velocity tuning, at the reference speed.
        speed_depth, position_depth: sd across units of the depth of speed and position tuning.
        crossings_share: depth of the crossings' tuning over that of sorted units (crossings mix
            many neurons, so they are tuned less).
        depth_spread: sd of the logarithm of the depth of velocity tuning across units.
        lag_s, lag_spread_s: mean and sd across units of the time by which spikes lead movement.
        n_fast, fast_s, fast_depth: shared latents of no use to the task, their time constant and
            the sd across units of their weight.
        n_slow, slow_s, slow_depth: the same for slow ones.
    """

    n_channels: int = 96
    silent: float = 0.4
    noise_rate: float = 1.0
    sorted_shares: tuple[float, ...] = (0.35, 0.35, 0.2, 0.1)
    crossings_hz: float = 20.0
    unit_hz: float = 6.0
    channel_spread: float = 0.45
    rate_spread: float = 0.25
    reference_speed_mm_s: float = 150.0
    reference_position_mm: float = 50.0
    velocity_depth: float = 0.375
    speed_depth: float = 0.2
    position_depth: float = 0.15
    crossings_share: float = 0.6
    depth_spread: float = 0.4
    lag_s: float = 0.1
    lag_spread_s: float = 0.04
    n_fast: int = 6
    fast_s: float = 0.3
    fast_depth: float = 0.2
    n_slow: int = 3
    slow_s: float = 60.0
    slow_depth: float = 0.08


@dataclass(frozen=True)
class DriftSettings:
    """What changes between the two days, and within each.

    Attributes:
        scale: multiplies all of the between-day changes below (shares are capped at 1).
        turnover: share of units that are other units on day B.
        rotation_rad: sd of the change of a kept unit's preferred direction.
        gain_spread: sd of the change of the logarithm of a kept unit's depth of tuning.
        baseline_spread: sd of the change of a kept unit's log baseline rate.
        lost: share of the channels with neurons on day A that are silent on day B; as many of
            those silent on day A, as far as they go, have neurons on day B.
        within_s: time constant of the drift within a day.
        within_rotation_rad, within_baseline: sd of a unit's preferred direction and log baseline
            rate about their means within a day.
    """

    scale: float = 1.0
    turnover: float = 0.05
    rotation_rad: float = 0.7
    gain_spread: float = 0.3
    baseline_spread: float = 0.06
    lost: float = 0.59
    within_s: float = 400.0
    within_rotation_rad: float = 0.1
    within_baseline: float = 0.05


@dataclass(frozen=True)
class Settings:
    """All magnitudes of the simulation.

    Raises:
        OrlaError: a magnitude that cannot be, such as a negative rate or a share above 1.
    """

    task: TaskSettings = TaskSettings()
    array: ArraySettings = ArraySettings()
    drift: DriftSettings = DriftSettings()

    def __post_init__(self) -> None:
        for part in ("task", "array", "drift"):
            for name, value in vars(getattr(self, part)).items():
                _check(f"dataset.simulated.{part}.{name}", name, value)


_SIGNED = {"start_s", "lag_s"}
_SHARES = {"silent", "turnover", "lost"}
_POSITIVE = {
    "duration_a_s",
    "duration_b_s",
    "sample_hz",
    "grid_side",
    "grid_spacing_mm",
    "acceptance_mm",
    "tremor_s",
    "n_channels",
    "crossings_hz",
    "unit_hz",
    "noise_rate",
    "reference_speed_mm_s",
    "reference_position_mm",
    "fast_s",
    "slow_s",
    "within_s",
}


def _check(key: str, name: str, value: float | tuple[float, ...]) -> None:
    values = np.atleast_1d(np.asarray(value, dtype=float))
    if not np.isfinite(values).all() or (name not in _SIGNED and (values < 0).any()):
        raise OrlaError(f"{key}: {value} cannot be; give a finite number of at least 0")
    if name in _POSITIVE and (values <= 0).any():
        raise OrlaError(f"{key}: {value} cannot be; give a number above 0")
    if name in _SHARES and (values > 1).any():
        raise OrlaError(f"{key}: {value} is no share; give a number from 0 to 1")
    if name == "sorted_shares" and not values.sum() > 0:
        raise OrlaError(f"{key}: {value} adds up to nothing; give one share above 0")
    if name == "grid_side" and value < 2:
        raise OrlaError(f"{key}: a grid of one target has no reaches; give at least 2")


@dataclass(frozen=True)
class Reaching:
    """Behavior of a session: t (k,) in s, cursor and target (k, 2), finger (k, 3): z, -x, -y."""

    t: np.ndarray
    cursor_mm: np.ndarray
    target_mm: np.ndarray
    finger_cm: np.ndarray
    reaches: int


@dataclass(frozen=True)
class Units:
    """Tuning of all units of the array, one entry (or row) a unit.

    Attributes:
        channel: index of its channel.
        is_sorted: False for a channel's unsorted crossings.
        log_rate: log of its rate (Hz) at rest.
        channel_log_rate: its channel's share of that.
        direction_rad, depth: preferred direction and depth of velocity tuning.
        speed: depth of speed tuning.
        position: (units, 2) depths of position tuning.
        lag_s: its spikes come this long before the movement.
        fast, slow: (units, latents) weights of the shared latents.
    """

    channel: np.ndarray
    is_sorted: np.ndarray
    log_rate: np.ndarray
    channel_log_rate: np.ndarray
    direction_rad: np.ndarray
    depth: np.ndarray
    speed: np.ndarray
    position: np.ndarray
    lag_s: np.ndarray
    fast: np.ndarray
    slow: np.ndarray

    def __len__(self) -> int:
        return len(self.channel)


def _minimum_jerk(samples: int) -> np.ndarray:
    """Progress 0..1 of a minimum-jerk movement (Flash and Hogan 1985)."""
    s = np.arange(1, samples + 1) / samples
    return s**3 * (10 - 15 * s + 6 * s**2)


def _reach(
    start: np.ndarray, end: np.ndarray, task: TaskSettings, rng: np.random.Generator
) -> np.ndarray:
    """Positions (samples, 2) of one curved minimum-jerk reach."""
    way = end - start
    duration = task.movement_s + task.movement_s_per_mm * np.hypot(*way)
    duration *= np.exp(task.movement_spread * rng.standard_normal())
    s = _minimum_jerk(max(2, round(duration * task.sample_hz)))
    sideways = np.array([-way[1], way[0]]) * task.curvature * rng.standard_normal()
    return start + np.outer(s, way) + np.outer(4 * s * (1 - s), sideways)


def _targets(task: TaskSettings, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Random points of the grid, centred on 0, never the same twice running."""
    n = task.grid_side**2
    place = int(rng.integers(n))
    while True:
        place = (place + int(rng.integers(1, n))) % n
        cell = np.array(divmod(place, task.grid_side), dtype=float)
        yield (cell - (task.grid_side - 1) / 2) * task.grid_spacing_mm


def _wander(
    samples: int, columns: int, sd: float, smooth: float, rng: np.random.Generator
) -> np.ndarray:
    """Smooth Gaussian noise (samples, columns) of the given sd; `smooth` in samples."""
    noise = gaussian_filter1d(rng.standard_normal((samples, columns)), smooth, axis=0)
    return sd * noise * np.sqrt(2 * np.sqrt(np.pi) * smooth)


def simulate_reaching(task: TaskSettings, duration_s: float, rng: np.random.Generator) -> Reaching:
    """Reaches until the time is up."""
    samples = round(duration_s * task.sample_hz) + 1
    intended, shown = np.empty((samples, 2)), np.empty((samples, 2))
    at, reaches, place = 0, 0, np.zeros(2)
    hold = round(task.hold_s * task.sample_hz)
    for target in _targets(task, rng):
        reaction = task.reaction_s * np.exp(task.reaction_spread * rng.standard_normal())
        path = [np.repeat(place[None], round(reaction * task.sample_hz), axis=0)]
        while True:
            end = target + task.scatter_mm * rng.standard_normal(2)
            path.append(_reach(place, end, task, rng))
            place = end
            if np.hypot(*(end - target)) <= task.acceptance_mm:
                break
        path.append(np.repeat(place[None], hold, axis=0))
        steps = np.concatenate(path)[: samples - at]
        intended[at : at + len(steps)] = steps
        shown[at : at + len(steps)] = target
        at += len(steps)
        if at == samples:
            break
        reaches += 1
    smooth = task.tremor_s * task.sample_hz
    cursor = intended + _wander(samples, 2, task.tremor_mm, smooth, rng)
    height = _wander(samples, 1, 0.5, 5 * smooth, rng)
    finger = np.column_stack([height, -cursor / _MM_PER_CM])
    t = task.start_s + np.arange(samples) / task.sample_hz
    return Reaching(t, cursor, shown, finger, reaches)


def draw_units(array: ArraySettings, rng: np.random.Generator) -> Units:
    """Draw the units of an array: each channel's unsorted crossings, then its sorted units."""
    shares = np.asarray(array.sorted_shares, dtype=float)
    n_sorted = rng.choice(len(shares), size=array.n_channels, p=shares / shares.sum())
    channel = np.repeat(np.arange(array.n_channels), 1 + n_sorted)
    is_sorted = np.ones(len(channel), dtype=bool)
    is_sorted[np.searchsorted(channel, np.arange(array.n_channels))] = False
    factors = array.channel_spread * rng.standard_normal(array.n_channels)
    return _tuned(channel, is_sorted, factors[channel], array, rng)


def _tuned(
    channel: np.ndarray,
    is_sorted: np.ndarray,
    channel_log_rate: np.ndarray,
    array: ArraySettings,
    rng: np.random.Generator,
) -> Units:
    n = len(channel)
    base = np.where(is_sorted, array.unit_hz, array.crossings_hz)
    share = np.where(is_sorted, 1.0, array.crossings_share)
    return Units(
        channel=channel,
        is_sorted=is_sorted,
        log_rate=np.log(base) + channel_log_rate + array.rate_spread * rng.standard_normal(n),
        channel_log_rate=channel_log_rate,
        direction_rad=rng.uniform(-np.pi, np.pi, n),
        depth=array.velocity_depth * share * np.exp(array.depth_spread * rng.standard_normal(n)),
        speed=array.speed_depth * share * rng.standard_normal(n),
        position=array.position_depth * share[:, None] * rng.standard_normal((n, 2)),
        lag_s=array.lag_s + array.lag_spread_s * rng.standard_normal(n),
        fast=array.fast_depth * rng.standard_normal((n, array.n_fast)),
        slow=array.slow_depth * rng.standard_normal((n, array.n_slow)),
    )


def drifted(
    units: Units, array: ArraySettings, drift: DriftSettings, rng: np.random.Generator
) -> Units:
    """The same units on another day: turnover, rotation, gains, baselines."""
    n = len(units)
    others = _tuned(units.channel, units.is_sorted, units.channel_log_rate, array, rng)
    # Every draw is made whatever the scale, so that the scale alone changes between two runs.
    rotation, gain, baseline = rng.standard_normal((3, n)) * drift.scale
    replaced = rng.random(n) < min(1.0, drift.turnover * drift.scale)

    def either(kept: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.where(replaced.reshape(-1, *[1] * (kept.ndim - 1)), new, kept)

    return Units(
        channel=units.channel,
        is_sorted=units.is_sorted,
        log_rate=either(units.log_rate + drift.baseline_spread * baseline, others.log_rate),
        channel_log_rate=units.channel_log_rate,
        direction_rad=either(
            units.direction_rad + drift.rotation_rad * rotation, others.direction_rad
        ),
        depth=either(units.depth * np.exp(drift.gain_spread * gain), others.depth),
        speed=either(units.speed, others.speed),
        position=either(units.position, others.position),
        lag_s=either(units.lag_s, others.lag_s),
        fast=either(units.fast, others.fast),
        slow=either(units.slow, others.slow),
    )


def silent_channels(
    array: ArraySettings, drift: DriftSettings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Which channels record no neuron on day A and on day B, (channels,) bool each."""
    order = rng.permutation(array.n_channels)
    silent, recording = np.split(order, [round(array.silent * array.n_channels)])
    lost = recording[: round(min(1.0, drift.lost * drift.scale) * len(recording))]
    day_a = np.zeros(array.n_channels, dtype=bool)
    day_a[silent] = True
    day_b = day_a.copy()
    day_b[lost] = True
    day_b[silent[: len(lost)]] = False
    return day_a, day_b


def silenced(units: Units, silent: np.ndarray, array: ArraySettings) -> Units:
    """The units with those of silent channels gone, and their crossings noise."""
    gone = silent[units.channel]
    total = array.noise_rate * np.bincount(units.channel, np.exp(units.log_rate))
    noise = np.where(units.is_sorted, -np.inf, np.log(total[units.channel]))
    return replace(
        units,
        log_rate=np.where(gone, noise, units.log_rate),
        depth=np.where(gone, 0.0, units.depth),
        speed=np.where(gone, 0.0, units.speed),
        position=np.where(gone[:, None], 0.0, units.position),
        fast=np.where(gone[:, None], 0.0, units.fast),
        slow=np.where(gone[:, None], 0.0, units.slow),
    )


def ornstein_uhlenbeck(
    samples: int, columns: int, time_constant: float, rng: np.random.Generator
) -> np.ndarray:
    """Stationary unit-variance noise (samples, columns); `time_constant` in samples."""
    keep = np.exp(-1.0 / time_constant)
    noise = np.sqrt(1 - keep**2) * rng.standard_normal((samples, columns))
    noise[0] /= np.sqrt(1 - keep**2)
    return lfilter([1.0], [1.0, -keep], noise, axis=0)


def _shifted(rows: np.ndarray, samples: int) -> np.ndarray:
    """Rows `samples` later (negative: earlier), the ends held."""
    return rows[np.clip(np.arange(len(rows)) + samples, 0, len(rows) - 1)]


def _poisson_times(rate_hz: np.ndarray, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Ascending event times of a Poisson process whose rate is constant over each sample."""
    expected = np.concatenate([[0.0], np.cumsum(rate_hz[:-1] * np.diff(t))])
    events = np.sort(rng.random(rng.poisson(expected[-1]))) * expected[-1]
    return np.interp(events, expected, t)


class _Firing:
    """Rates of the units of one session, given its behavior and its latents."""

    def __init__(
        self, units: Units, reaching: Reaching, settings: Settings, rng: np.random.Generator
    ) -> None:
        array, drift, hz = settings.array, settings.drift, settings.task.sample_hz
        samples = len(reaching.t)
        self.units, self.hz, self.drift = units, hz, drift
        self.t = reaching.t
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
        u = self.units
        if np.isneginf(u.log_rate[unit]):
            return np.zeros(len(self.t))
        moving = _shifted(self.movement, round(u.lag_s[unit] * self.hz))
        turn = self.drift.within_rotation_rad * self.turn[:, unit]
        angle = u.direction_rad[unit] + np.interp(self.t, self.knots, turn)
        level = self.drift.within_baseline * self.level[:, unit]
        log_rate = u.log_rate[unit] + np.interp(self.t, self.knots, level)
        log_rate += u.depth[unit] * (np.cos(angle) * moving[:, 0] + np.sin(angle) * moving[:, 1])
        log_rate += u.speed[unit] * moving[:, 2] + moving[:, 3:] @ u.position[unit]
        log_rate += self.fast @ u.fast[unit] + self.slow @ u.slow[unit]
        return np.exp(np.minimum(log_rate, np.log(_MAX_RATE_HZ)))


def simulate_spikes(
    units: Units, reaching: Reaching, settings: Settings, seed: np.random.SeedSequence
) -> list[list[np.ndarray]]:
    """Event times (s) of every channel: unsorted crossings, sorted units, then empty cells."""
    latents, *seeds = seed.spawn(1 + len(units))
    firing = _Firing(units, reaching, settings, np.random.default_rng(latents))
    columns = max(_MIN_COLUMNS, len(settings.array.sorted_shares))
    spikes = [[np.empty(0)] * columns for _ in range(settings.array.n_channels)]
    filled = [0] * settings.array.n_channels
    for unit, unit_seed in enumerate(seeds):
        channel = int(units.channel[unit])
        rng = np.random.default_rng(unit_seed)
        spikes[channel][filled[channel]] = _poisson_times(firing.rate_hz(unit), reaching.t, rng)
        filled[channel] += 1
    return spikes


def _units_of_both_days(settings: Settings, *seeds: np.random.SeedSequence) -> tuple[Units, Units]:
    population, drift, silence = (np.random.default_rng(seed) for seed in seeds)
    units = draw_units(settings.array, population)
    other = drifted(units, settings.array, settings.drift, drift)
    silent_a, silent_b = silent_channels(settings.array, settings.drift, silence)
    return (
        silenced(units, silent_a, settings.array),
        silenced(other, silent_b, settings.array),
    )


def write(path_a: Path | str, path_b: Path | str, settings: Settings, seed: int) -> None:
    """Simulate both sessions and write them as MATLAB v7.3 files of the O'Doherty layout.

    Args:
        path_a: file of the session to pretrain on.
        path_b: file of the session to adapt to.
        settings: all magnitudes.
        seed: of every random draw; each part of the simulation has its own stream of it, so that
            changing one leaves the draws of the others as they were.
    """
    task = settings.task
    root = np.random.SeedSequence([_SEED_NAME, seed])
    reach_a, reach_b, population, drift, silence, spikes_a, spikes_b = root.spawn(7)
    units_a, units_b = _units_of_both_days(settings, population, drift, silence)
    days = (
        (path_a, task.duration_a_s, units_a, reach_a, spikes_a),
        (path_b, task.duration_b_s, units_b, reach_b, spikes_b),
    )
    names = [f"M1 {i + 1:03d}" for i in range(settings.array.n_channels)]
    for path, duration_s, units, reach_seed, spike_seed in days:
        reaching = simulate_reaching(task, duration_s, np.random.default_rng(reach_seed))
        matfile.write_session(
            path,
            chan_names=names,
            t=reaching.t,
            cursor_pos=reaching.cursor_mm,
            finger_pos=reaching.finger_cm,
            target_pos=reaching.target_mm,
            spikes=simulate_spikes(units, reaching, settings, spike_seed),
        )
