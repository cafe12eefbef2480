"""The units of an array: their tuning, how it drifts between days, and silent channels.

A unit's log rate is linear in the velocity, the speed and the position of the cursor some time
later (Georgopoulos 1982; Moran and Schwartz 1999) and in latents that the array shares.
"""

from dataclasses import dataclass, replace

import numpy as np

from orla.sessions.simulator import ArraySettings, DriftSettings, Settings


@dataclass(frozen=True)
class Units:
    """Tuning of all units of the array, one entry (or row) a unit.

    Attributes:
        channel, is_sorted: index of its channel; False for the channel's unsorted crossings.
        log_rate: log of its rate (Hz) at rest.
        channel_log_rate: the part of `log_rate` that all units of its channel share.
        direction_rad, depth: preferred direction and depth of velocity tuning.
        speed, position: depths of speed tuning, and (units, 2) of position tuning.
        lag_s: time by which its spikes lead the movement.
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


def draw_units(array: ArraySettings, rng: np.random.Generator) -> Units:
    """Draw the units of an array: each channel's unsorted crossings, then its sorted units."""
    shares = np.asarray(array.sorted_shares, dtype=float)
    n_sorted = rng.choice(len(shares), size=array.n_channels, p=shares / shares.sum())
    channel = np.repeat(np.arange(array.n_channels), 1 + n_sorted)
    is_sorted = np.ones(len(channel), dtype=bool)
    is_sorted[np.searchsorted(channel, np.arange(array.n_channels))] = False
    factors = array.channel_spread * rng.standard_normal(array.n_channels)
    return _draw_units(channel, is_sorted, factors[channel], array, rng)


def _draw_units(
    channel: np.ndarray,
    is_sorted: np.ndarray,
    channel_log_rate: np.ndarray,
    array: ArraySettings,
    rng: np.random.Generator,
) -> Units:
    """Units of these channels, their tuning drawn."""
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


def drift_units(
    units: Units, array: ArraySettings, drift: DriftSettings, rng: np.random.Generator
) -> Units:
    """The same units on another day: turnover, rotation, gains, baselines."""
    n = len(units)
    new_units = _draw_units(units.channel, units.is_sorted, units.channel_log_rate, array, rng)
    # All draws are made at every scale, so that runs of different scales have the same draws.
    rotation, gain, baseline = rng.standard_normal((3, n)) * drift.scale
    is_new = rng.random(n) < min(1.0, drift.turnover * drift.scale)
    same_units = replace(
        units,
        log_rate=units.log_rate + drift.baseline_spread * baseline,
        direction_rad=units.direction_rad + drift.rotation_rad * rotation,
        depth=units.depth * np.exp(drift.gain_spread * gain + drift.gain * drift.scale),
    )
    olds = vars(same_units).items()
    return Units(**{name: _replace_rows(is_new, vars(new_units)[name], old) for name, old in olds})


def _replace_rows(mask: np.ndarray, new: np.ndarray | float, old: np.ndarray) -> np.ndarray:
    """Rows of `old`, one a unit, with those of `new` where `mask` (units,) bool is True."""
    return np.where(mask.reshape(-1, *[1] * (old.ndim - 1)), new, old)


def draw_silent_masks(
    array: ArraySettings, drift: DriftSettings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Which channels record no neuron on day A and on day B, (channels,) bool each."""
    order = rng.permutation(array.n_channels)
    silent, active = np.split(order, [round(array.silent * array.n_channels)])
    newly_silent = active[: round(min(1.0, drift.lost * drift.scale) * len(active))]
    day_a = np.zeros(array.n_channels, dtype=bool)
    day_a[silent] = True
    day_b = day_a.copy()
    day_b[newly_silent] = True
    day_b[silent[: len(newly_silent)]] = False
    return day_a, day_b


def turn_silent_channels_to_noise(
    units: Units, silent_mask: np.ndarray, array: ArraySettings
) -> Units:
    """The units without the sorted ones of silent channels, whose crossings become noise."""
    is_silent = silent_mask[units.channel]
    total = array.noise_rate * np.bincount(units.channel, np.exp(units.log_rate))
    noise = np.where(units.is_sorted, -np.inf, np.log(total[units.channel]))
    names = ("depth", "speed", "position", "fast", "slow")
    tuning = {name: _replace_rows(is_silent, 0.0, vars(units)[name]) for name in names}
    return replace(units, log_rate=np.where(is_silent, noise, units.log_rate), **tuning)


def units_of_both_days(settings: Settings, *seeds: np.random.SeedSequence) -> tuple[Units, Units]:
    """The units of day A and day B: seeds of the population, of its drift, of silent channels."""
    population, drift, silence = map(np.random.default_rng, seeds)
    units_a = draw_units(settings.array, population)
    units_b = drift_units(units_a, settings.array, settings.drift, drift)
    masks = draw_silent_masks(settings.array, settings.drift, silence)
    days = zip((units_a, units_b), masks, strict=True)
    return tuple(turn_silent_channels_to_noise(day, silent, settings.array) for day, silent in days)
