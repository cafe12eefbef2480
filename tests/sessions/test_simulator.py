"""The simulation: reaches, the units' tuning and its drift, and the spikes that follow."""

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from orla.catalogue.options import parse_settings
from orla.errors import OrlaError
from orla.sessions.simulator import ArraySettings, DriftSettings, Settings, TaskSettings
from orla.sessions.simulator.days import (
    _reach_positions,
    ornstein_uhlenbeck,
    simulate_both_days,
    simulate_reaching,
    simulate_spikes,
)
from orla.sessions.simulator.units import (
    Units,
    draw_silent_masks,
    draw_units,
    drift_units,
    turn_silent_channels_to_noise,
    units_of_both_days,
)

SMALL = Settings(
    task=TaskSettings(duration_a_s=40.0, duration_b_s=30.0), array=ArraySettings(n_channels=6)
)


def rng(seed=0):
    return np.random.default_rng(seed)


@cache
def reaching(seconds):
    return simulate_reaching(TaskSettings(), seconds, rng(1))


@cache
def many_units():
    array = ArraySettings(n_channels=3000)
    return array, draw_units(array, rng(8))


# Settings and days


def test_a_magnitude_that_cannot_be_is_named():
    for spec, message in (
        ({"array": {"sorted_shares": [0.0]}}, r"sorted_shares: .* are no shares"),
        ({"array": {"sorted_shares": [0.5, -0.1]}}, r"sorted_shares: .* are no shares"),
        ({"task": {"start_s": float("nan")}}, r"start_s: nan; give a finite"),
    ):
        with pytest.raises(OrlaError, match=message):
            parse_settings(Settings, spec, "config: simulated")
    most = {"seed": 4, "drift": {"scale": 0.0, "lost": 1.0}}
    expected = Settings(drift=DriftSettings(scale=0.0, lost=1.0), seed=4)
    assert parse_settings(Settings, most, "config: simulated") == expected


def days(**changes):
    """Of each day the sample times, targets and, joined, all event times."""
    return [
        (reaching.t, reaching.target_mm, np.concatenate([x for cells in spikes for x in cells]))
        for reaching, spikes in simulate_both_days(replace(SMALL, **changes))
    ]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_seed_names_its_days_and_drift_changes_day_b_alone():
    first, again, other = days(), days(), days(seed=7)
    drifted = days(drift=replace(SMALL.drift, scale=2.0))
    for day in (0, 1):
        assert same(first[day], again[day]) and not same(first[day], other[day])
        assert same(first[day], drifted[day]) == (day == 0)
    (t_a, targets_a, events), (t_b, targets_b, _) = first
    assert (len(t_a), len(t_b)) == (10_001, 7_501)
    np.testing.assert_allclose(np.diff(t_a), 0.004, atol=1e-9)
    assert not np.array_equal(targets_a[:7_501], targets_b)
    assert t_a[0] <= events.min() and events.max() <= t_a[-1]


# Reaches


def test_targets_are_points_of_the_grid_never_repeat_and_are_reached():
    behavior, task = reaching(300.0), TaskSettings()
    places = behavior.target_mm / task.grid_spacing_mm + 3.5
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    assert places.min() >= 0 and places.max() <= 7
    ends = np.flatnonzero(np.any(np.diff(behavior.target_mm, axis=0) != 0, axis=1))
    # One more target is on the screen when the time is up.
    assert len(ends) == behavior.reaches
    # The cursor is on the target when the next one appears, elsewhere.
    miss = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends], axis=1)
    assert miss.max() < task.acceptance_mm + 5 * task.tremor_mm
    starts = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends + 1], axis=1)
    assert np.median(starts) > 30
    np.testing.assert_allclose(behavior.finger_cm[:, 1:], -behavior.cursor_mm / 10)


def test_a_reach_without_noise_is_minimum_jerk_and_curvature_bends_it_sideways():
    task = TaskSettings(curvature=0.0, movement_spread=0.0)
    path = _reach_positions(np.zeros(2), np.array([60.0, 80.0]), task, rng())
    duration = task.movement_s + 100 * task.movement_s_per_mm
    assert len(path) == round(duration * 250)
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1) * 250
    # Flash and Hogan: the peak is 15/8 of the mean speed, in the middle.
    assert speed.max() == pytest.approx(1.875 * 100 / duration, rel=0.01)
    assert abs(speed.argmax() - len(speed) / 2) < 2
    np.testing.assert_allclose(path[-1], [60.0, 80.0])
    task, end = TaskSettings(curvature=0.1), np.array([100.0, 0.0])
    paths = [_reach_positions(np.zeros(2), end, task, rng(seed))[:, 1] for seed in range(200)]
    bends = np.array([np.abs(path).max() for path in paths])
    assert np.sqrt(np.mean(bends**2)) == pytest.approx(10.0, rel=0.15)


# Units


def test_every_channel_has_crossings_and_up_to_three_sorted_units():
    array, units = many_units()
    assert units.channel[~units.is_sorted].tolist() == list(range(3000))
    shares = np.bincount(np.bincount(units.channel) - 1) / 3000
    np.testing.assert_allclose(shares, array.sorted_shares, atol=0.03)
    assert np.exp(np.median(units.log_rate[units.is_sorted])) == pytest.approx(6.0, rel=0.05)
    spread = np.hypot(array.channel_spread, array.rate_spread)
    assert units.log_rate[~units.is_sorted].std() == pytest.approx(spread, rel=0.05)


def only(**drift):
    none = dict(turnover=0.0, rotation_rad=0.0, gain_spread=0.0, baseline_spread=0.0)
    return DriftSettings(**{**none, "scale": 1.0, **drift})


@pytest.mark.parametrize(
    ("field", "drift"),
    [
        ("direction_rad", only(rotation_rad=0.3, scale=0.5)),
        ("depth", only(gain_spread=0.3, scale=0.5)),
        ("log_rate", only(baseline_spread=0.3, scale=0.5)),
        ("", DriftSettings(scale=0.0)),
    ],
)
def test_each_drift_moves_its_own_tuning_by_its_size(field, drift):
    array, units = many_units()
    other, before = vars(drift_units(units, array, drift, rng(2))), dict(vars(units))
    if field:
        after, old = other.pop(field), before.pop(field)
        change = np.log(after / old) if field == "depth" else after - old
        assert change.std() == pytest.approx(0.15, rel=0.05)
    np.testing.assert_equal(dict(other), before)


def test_a_mean_gain_deepens_all_tuning_alike_and_turnover_replaces_its_share_of_units():
    array, units = many_units()
    drifts = [only(gain_spread=0.3, gain=gain, scale=0.5) for gain in (0.0, 0.4)]
    plain, other = (drift_units(units, array, drift, rng(2)) for drift in drifts)
    np.testing.assert_allclose(other.depth, plain.depth * np.exp(0.2))
    np.testing.assert_array_equal(other.direction_rad, plain.direction_rad)
    turned = drift_units(units, array, only(turnover=0.4), rng(2))
    assert np.mean(turned.lag_s != units.lag_s) == pytest.approx(0.4, abs=0.03)


def test_as_many_channels_are_silent_on_either_day():
    array, drift = ArraySettings(n_channels=100, silent=0.4), only(lost=0.5, scale=0.5)
    day_a, day_b = draw_silent_masks(array, drift, rng(2))
    assert day_a.sum() == day_b.sum() == 40
    # A quarter of the 60 channels with neurons is lost, and as many are gained.
    assert (day_b & ~day_a).sum() == (day_a & ~day_b).sum() == 15
    none = draw_silent_masks(array, only(lost=0.5, scale=0.0), rng(2))
    np.testing.assert_array_equal(*none)
    # All five channels with neurons are lost, and the five others gain some.
    lost = Settings(array=ArraySettings(n_channels=10, silent=0.5), drift=only(lost=1.0))
    both = units_of_both_days(lost, *np.random.SeedSequence(0).spawn(3))
    silent_a, silent_b = (day.depth[~day.is_sorted] == 0 for day in both)
    assert silent_a.sum() == 5
    np.testing.assert_array_equal(silent_b, ~silent_a)


def test_silent_channels_record_noise_alone():
    array, units = many_units()
    silent = rng(3).random(3000) < 0.3
    heard = turn_silent_channels_to_noise(units, silent, array)
    gone = silent[units.channel]
    assert np.all(np.isneginf(heard.log_rate[gone & units.is_sorted]))
    for channel in np.flatnonzero(silent)[:20]:
        here = units.channel == channel
        before, after = np.exp(units.log_rate[here]), np.exp(heard.log_rate[here])
        assert after[0] == pytest.approx(array.noise_rate * before.sum())
    assert not any(np.any(getattr(heard, name)[gone]) for name in ("depth", "speed", "position"))
    for name in ("depth", "log_rate"):
        np.testing.assert_array_equal(getattr(heard, name)[~gone], getattr(units, name)[~gone])


# Spikes


def one_unit(**tuning) -> Units:
    """A unit that fires at 20 Hz whatever happens, but for what is given."""
    flat = {field.name: np.zeros(1) for field in fields(Units)}
    flat |= {"channel": [0], "is_sorted": [False], "log_rate": np.log([20.0])}
    flat |= {"position": np.zeros((1, 2)), "fast": np.zeros((1, 6)), "slow": np.zeros((1, 3))}
    return Units(**{name: np.array(value) for name, value in {**flat, **tuning}.items()})


STILL = Settings(
    array=ArraySettings(n_channels=1),
    drift=DriftSettings(within_baseline=0.0, within_rotation_rad=0.0),
)


def spikes_of(units, seconds):
    """Of the one channel; the first cell's where there is one unit."""
    [cells] = simulate_spikes(units, reaching(seconds), STILL, np.random.SeedSequence(3))
    return cells[0] if len(units) == 1 else cells


def velocity_at(behavior, times):
    velocity = np.gradient(behavior.cursor_mm, behavior.t, axis=0)
    return np.column_stack([np.interp(times, behavior.t, v) for v in velocity.T])


def fano(times, seconds):
    counts = np.histogram(times, np.arange(20.0, 20.0 + seconds, 0.5))[0]
    return counts.var() / counts.mean()


def test_a_flat_unit_is_poisson_and_without_direction():
    times, t = spikes_of(one_unit(), 400.0), reaching(400.0).t
    assert np.all(np.diff(times) >= 0) and times[0] >= t[0] and times[-1] <= t[-1]
    assert len(times) == pytest.approx(20 * 400, abs=4 * np.sqrt(20 * 400))
    assert fano(times, 400) == pytest.approx(1.0, abs=0.2)
    intervals = np.diff(times)
    assert intervals.std() / intervals.mean() == pytest.approx(1.0, abs=0.05)
    mean = np.linalg.norm(velocity_at(reaching(400.0), times).mean(0))
    assert mean < 4 * 95 / np.sqrt(len(times))


def test_no_unit_fires_faster_than_300_hz_and_each_of_a_channel_has_a_cell():
    times = spikes_of(one_unit(log_rate=np.log([3000.0])), 20.0)
    assert len(times) == pytest.approx(300 * 20, abs=4 * np.sqrt(300 * 20))
    two = Units(**{name: np.repeat(of, 2, axis=0) for name, of in vars(one_unit()).items()})
    first, second, *others = spikes_of(two, 20.0)
    for times in (first, second):
        assert len(times) == pytest.approx(20 * 20, abs=4 * np.sqrt(20 * 20))
    assert not np.array_equal(first, second)
    assert not any(times.size for times in others)


@pytest.mark.parametrize("lag_s", [0.0, 0.12])
def test_tuning_is_recovered_from_the_spikes(lag_s):
    behavior = reaching(600.0)
    times = spikes_of(one_unit(depth=[0.5], direction_rad=[2.0], lag_s=[lag_s]), 600.0)
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


def test_speed_position_and_latents_move_the_rate():
    behavior, flat = reaching(600.0), spikes_of(one_unit(), 600.0)
    fast, right = (
        spikes_of(one_unit(**of), 600.0) for of in ({"speed": [0.5]}, {"position": [[0.5, 0.0]]})
    )
    speeds = [np.linalg.norm(velocity_at(behavior, x), axis=1).mean() for x in (fast, flat)]
    places = [np.interp(x, behavior.t, behavior.cursor_mm[:, 0]).mean() for x in (right, flat)]
    assert speeds[0] > 1.15 * speeds[1] and places[0] > places[1] + 5
    for latent, count in (("fast", 6), ("slow", 3)):
        shaken = spikes_of(one_unit(**{latent: np.full((1, count), 0.3)}), 600.0)
        assert fano(shaken, 600) > 1.5 * fano(flat, 600)


def test_ornstein_uhlenbeck_has_unit_variance_and_its_time_constant():
    noise = ornstein_uhlenbeck(200_000, 1, 20.0, rng())[:, 0]
    assert noise.var() == pytest.approx(1.0, abs=0.05)
    assert np.mean(noise[20:] * noise[:-20]) == pytest.approx(np.exp(-1), abs=0.05)
    starts = ornstein_uhlenbeck(1, 20_000, 50.0, rng())
    assert starts.var() == pytest.approx(1.0, abs=0.05)
