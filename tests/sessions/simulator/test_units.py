from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from orla.sessions.simulator.settings import ArraySettings, DriftSettings, Settings
from orla.sessions.simulator.units import (
    Units,
    draw_units,
    drift_units,
    silence_channels,
    silent_channels,
    units_of_both_days,
)


def rng(seed=0):
    return np.random.default_rng(seed)


@cache
def many_units():
    array = ArraySettings(n_channels=3000)
    return array, draw_units(array, rng(8))


def test_every_channel_has_crossings_and_up_to_three_sorted_units():
    array, units = many_units()
    crossings = units.channel[~units.is_sorted]
    assert crossings.tolist() == list(range(3000))
    n_sorted = np.bincount(units.channel) - 1
    shares = np.bincount(n_sorted) / 3000
    np.testing.assert_allclose(shares, array.sorted_shares, atol=0.03)
    assert np.exp(np.median(units.log_rate[units.is_sorted])) == pytest.approx(6.0, rel=0.05)
    log_rate = units.log_rate[~units.is_sorted]
    assert log_rate.std() == pytest.approx(
        np.hypot(array.channel_spread, array.rate_spread), rel=0.05
    )


def test_no_drift_leaves_every_unit_as_it_was():
    array, units = many_units()
    same = drift_units(units, array, DriftSettings(scale=0.0), rng(2))
    for field in fields(Units):
        np.testing.assert_array_equal(getattr(same, field.name), getattr(units, field.name))


def only(**drift):
    none = dict(turnover=0.0, rotation_rad=0.0, gain_spread=0.0, baseline_spread=0.0)
    return DriftSettings(**{**none, "scale": 1.0, **drift})


@pytest.mark.parametrize(
    ("knob", "field"),
    [
        ("rotation_rad", "direction_rad"),
        ("gain_spread", "depth"),
        ("baseline_spread", "log_rate"),
    ],
)
def test_each_drift_moves_its_own_tuning_by_its_size(knob, field):
    array, units = many_units()
    other = drift_units(units, array, only(**{knob: 0.3}, scale=0.5), rng(2))
    for each in fields(Units):
        before, after = getattr(units, each.name), getattr(other, each.name)
        if each.name != field:
            np.testing.assert_array_equal(after, before)
        else:
            change = np.log(after / before) if field == "depth" else after - before
            assert change.std() == pytest.approx(0.15, rel=0.05)


def test_a_mean_gain_deepens_the_tuning_of_every_unit_alike():
    array, units = many_units()
    plain, other = (
        drift_units(units, array, only(gain_spread=0.3, gain=gain, scale=0.5), rng(2))
        for gain in (0.0, 0.4)
    )
    np.testing.assert_allclose(other.depth, plain.depth * np.exp(0.2))
    np.testing.assert_array_equal(other.direction_rad, plain.direction_rad)


def test_turnover_replaces_its_share_of_units():
    array, units = many_units()
    turned = drift_units(units, array, only(turnover=0.4), rng(2))
    assert np.mean(turned.lag_s != units.lag_s) == pytest.approx(0.4, abs=0.03)


def test_as_many_channels_are_silent_on_either_day():
    array, drift = ArraySettings(n_channels=100, silent=0.4), only(lost=0.5, scale=0.5)
    day_a, day_b = silent_channels(array, drift, rng(2))
    assert day_a.sum() == day_b.sum() == 40
    # A quarter of the 60 channels with neurons is lost, and as many are gained.
    assert (day_b & ~day_a).sum() == (day_a & ~day_b).sum() == 15
    none = silent_channels(array, only(lost=0.5, scale=0.0), rng(2))
    np.testing.assert_array_equal(*none)


def test_silent_channels_record_noise_alone():
    array, units = many_units()
    silent = rng(3).random(3000) < 0.3
    heard = silence_channels(units, silent, array)
    gone = silent[units.channel]
    assert np.all(np.isneginf(heard.log_rate[gone & units.is_sorted]))
    for channel in np.flatnonzero(silent)[:20]:
        here = units.channel == channel
        before, after = np.exp(units.log_rate[here]), np.exp(heard.log_rate[here])
        assert after[0] == pytest.approx(array.noise_rate * before.sum())
    assert not any(np.any(getattr(heard, name)[gone]) for name in ("depth", "speed", "position"))
    np.testing.assert_array_equal(heard.depth[~gone], units.depth[~gone])
    np.testing.assert_array_equal(heard.log_rate[~gone], units.log_rate[~gone])


def test_each_day_has_silent_channels_of_its_own():
    # All five channels with neurons are lost, and the five others gain some.
    settings = Settings(array=ArraySettings(n_channels=10, silent=0.5), drift=only(lost=1.0))
    days = units_of_both_days(settings, *np.random.SeedSequence(0).spawn(3))
    silent_a, silent_b = (day.depth[~day.is_sorted] == 0 for day in days)
    assert silent_a.sum() == 5
    np.testing.assert_array_equal(silent_b, ~silent_a)
