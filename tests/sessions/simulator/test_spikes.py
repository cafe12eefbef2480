from functools import cache

import numpy as np
import pytest

from orla.sessions.simulator.reaches import simulate_reaching
from orla.sessions.simulator.settings import (
    ArraySettings,
    DriftSettings,
    Settings,
    TaskSettings,
)
from orla.sessions.simulator.spikes import ornstein_uhlenbeck, simulate_spikes
from orla.sessions.simulator.units import Units


def rng(seed=0):
    return np.random.default_rng(seed)


@cache
def reaching(seconds):
    return simulate_reaching(TaskSettings(), seconds, rng(1))


def one_unit(**tuning) -> Units:
    """A unit that fires at 20 Hz whatever happens, but for what is given."""
    flat = dict(
        channel=np.array([0]),
        is_sorted=np.array([False]),
        log_rate=np.log([20.0]),
        channel_log_rate=np.zeros(1),
        direction_rad=np.zeros(1),
        depth=np.zeros(1),
        speed=np.zeros(1),
        position=np.zeros((1, 2)),
        lag_s=np.zeros(1),
        fast=np.zeros((1, 6)),
        slow=np.zeros((1, 3)),
    )
    return Units(**{**flat, **{name: np.array(value) for name, value in tuning.items()}})


def still(**drift) -> Settings:
    return Settings(
        array=ArraySettings(n_channels=1),
        drift=DriftSettings(**{"within_baseline": 0.0, "within_rotation_rad": 0.0, **drift}),
    )


def spikes_of(units, behavior, settings, seed=3):
    cells = simulate_spikes(units, behavior, settings, np.random.SeedSequence(seed))
    return cells[0][0]


def velocity_at(behavior, times):
    velocity = np.gradient(behavior.cursor_mm, behavior.t, axis=0)
    return np.column_stack([np.interp(times, behavior.t, v) for v in velocity.T])


def test_a_flat_unit_is_poisson():
    behavior = reaching(400.0)
    times = spikes_of(one_unit(), behavior, still())
    assert np.all(np.diff(times) >= 0)
    assert times[0] >= behavior.t[0] and times[-1] <= behavior.t[-1]
    assert len(times) == pytest.approx(20 * 400, abs=4 * np.sqrt(20 * 400))
    counts = np.histogram(times, np.arange(20.0, 420.0, 0.5))[0]
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=0.2)
    intervals = np.diff(times)
    assert intervals.std() / intervals.mean() == pytest.approx(1.0, abs=0.05)


def test_no_unit_fires_faster_than_300_hz():
    times = spikes_of(one_unit(log_rate=np.log([3000.0])), reaching(20.0), still())
    assert len(times) == pytest.approx(300 * 20, abs=4 * np.sqrt(300 * 20))


def test_each_unit_of_a_channel_has_a_cell_of_its_own():
    two = Units(**{name: np.repeat(of, 2, axis=0) for name, of in vars(one_unit()).items()})
    ((first, second, *others),) = simulate_spikes(
        two, reaching(20.0), still(), np.random.SeedSequence(3)
    )
    for times in (first, second):
        assert len(times) == pytest.approx(20 * 20, abs=4 * np.sqrt(20 * 20))
    assert not np.array_equal(first, second)
    assert not any(times.size for times in others)


@pytest.mark.parametrize("lag_s", [0.0, 0.12])
def test_tuning_is_recovered_from_the_spikes(lag_s):
    behavior = reaching(600.0)
    unit = one_unit(depth=[0.5], direction_rad=[2.0], lag_s=[lag_s])
    times = spikes_of(unit, behavior, still())
    # Spikes lead movement: the mean velocity lag_s after a spike points along the preferred
    # direction, and that at other lags is shorter.
    lags = lag_s + np.array([-0.2, -0.1, 0.0, 0.1, 0.2])
    means = np.array([velocity_at(behavior, times + lag).mean(0) for lag in lags])
    lengths = np.linalg.norm(means, axis=1)
    assert lengths.argmax() == 2
    assert np.arctan2(means[2, 1], means[2, 0]) == pytest.approx(2.0, abs=0.15)
    # For log-linear tuning and Gaussian velocity the mean shift is depth / v0 times the covariance;
    # velocities here have heavier tails, hence the wide band.
    variance = np.gradient(behavior.cursor_mm, behavior.t, axis=0).var(0).mean()
    assert lengths[2] == pytest.approx(0.5 / 150 * variance, rel=0.25)


def test_an_untuned_unit_has_no_direction():
    behavior = reaching(600.0)
    times = spikes_of(one_unit(), behavior, still())
    drift_of_mean = np.linalg.norm(velocity_at(behavior, times).mean(0))
    assert drift_of_mean < 4 * 95 / np.sqrt(len(times))


def test_speed_position_and_latents_move_the_rate():
    behavior = reaching(600.0)

    def speed(times):
        return np.linalg.norm(velocity_at(behavior, times), axis=1).mean()

    def place(times):
        return np.interp(times, behavior.t, behavior.cursor_mm[:, 0]).mean()

    def fano(times):
        counts = np.histogram(times, np.arange(20.0, 620.0, 0.5))[0]
        return counts.var() / counts.mean()

    flat = spikes_of(one_unit(), behavior, still())
    assert speed(spikes_of(one_unit(speed=[0.5]), behavior, still())) > 1.15 * speed(flat)
    right = spikes_of(one_unit(position=[[0.5, 0.0]]), behavior, still())
    assert place(right) > place(flat) + 5
    for latent, count in (("fast", 6), ("slow", 3)):
        shaken = one_unit(**{latent: np.full((1, count), 0.3)})
        assert fano(spikes_of(shaken, behavior, still())) > 1.5 * fano(flat)


def test_ornstein_uhlenbeck_has_unit_variance_and_its_time_constant():
    noise = ornstein_uhlenbeck(200_000, 1, 20.0, rng())[:, 0]
    assert noise.var() == pytest.approx(1.0, abs=0.05)
    assert np.mean(noise[20:] * noise[:-20]) == pytest.approx(np.exp(-1), abs=0.05)
    starts = ornstein_uhlenbeck(1, 20_000, 50.0, rng())
    assert starts.var() == pytest.approx(1.0, abs=0.05)
