from dataclasses import fields, replace

import h5py
import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions import simulated
from orla.sessions.simulated import ArraySettings, DriftSettings, Settings, TaskSettings, Units

SMALL = Settings(
    task=TaskSettings(duration_a_s=40.0, duration_b_s=30.0), array=ArraySettings(n_channels=6)
)


def rng(seed=0):
    return np.random.default_rng(seed)


def reaching(seconds=300.0, **task):
    return simulated.simulate_reaching(TaskSettings(**task), seconds, rng(1))


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
    cells = simulated.simulate_spikes(units, behavior, settings, np.random.SeedSequence(seed))
    return cells[0][0]


def velocity_at(behavior, times):
    velocity = np.gradient(behavior.cursor_mm, behavior.t, axis=0)
    return np.column_stack([np.interp(times, behavior.t, v) for v in velocity.T])


def test_targets_are_points_of_the_grid_and_never_repeat():
    behavior = reaching()
    spacing = TaskSettings().grid_spacing_mm
    places = behavior.target_mm / spacing + 3.5
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    assert places.min() >= 0 and places.max() <= 7
    changes = np.flatnonzero(np.any(np.diff(behavior.target_mm, axis=0) != 0, axis=1))
    # One more target is on the screen when the time is up.
    assert len(changes) == behavior.reaches


def test_the_cursor_is_on_the_target_when_the_next_appears():
    behavior, task = reaching(), TaskSettings()
    ends = np.flatnonzero(np.any(np.diff(behavior.target_mm, axis=0) != 0, axis=1))
    miss = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends], axis=1)
    assert miss.max() < task.acceptance_mm + 5 * task.tremor_mm
    starts = np.linalg.norm(behavior.cursor_mm[ends] - behavior.target_mm[ends + 1], axis=1)
    assert np.median(starts) > 30


def test_a_reach_without_noise_is_minimum_jerk():
    task = TaskSettings(curvature=0.0, movement_spread=0.0)
    path = simulated._reach(np.zeros(2), np.array([60.0, 80.0]), task, rng())
    duration = task.movement_s + 100 * task.movement_s_per_mm
    assert len(path) == round(duration * 250)
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1) * 250
    # Flash and Hogan: the peak is 15/8 of the mean speed, in the middle.
    assert speed.max() == pytest.approx(1.875 * 100 / duration, rel=0.01)
    assert abs(speed.argmax() - len(speed) / 2) < 2
    np.testing.assert_allclose(path[-1], [60.0, 80.0])


def test_curvature_bends_the_reach_sideways():
    task = TaskSettings(curvature=0.1)
    bends = [
        np.abs(simulated._reach(np.zeros(2), np.array([100.0, 0.0]), task, rng(s))[:, 1]).max()
        for s in range(200)
    ]
    assert np.std(bends + [-b for b in bends]) == pytest.approx(10.0, rel=0.15)


def test_finger_is_the_cursor_in_centimetres_with_its_signs():
    behavior = reaching(20.0)
    np.testing.assert_allclose(behavior.finger_cm[:, 1:], -behavior.cursor_mm / 10)


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
    noise = simulated.ornstein_uhlenbeck(200_000, 1, 20.0, rng())[:, 0]
    assert noise.var() == pytest.approx(1.0, abs=0.05)
    assert np.mean(noise[20:] * noise[:-20]) == pytest.approx(np.exp(-1), abs=0.05)
    starts = simulated.ornstein_uhlenbeck(1, 20_000, 50.0, rng())
    assert starts.var() == pytest.approx(1.0, abs=0.05)


def many_units():
    array = ArraySettings(n_channels=3000)
    return array, simulated.draw_units(array, rng(8))


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
    same = simulated.drifted(units, array, DriftSettings(scale=0.0), rng(2))
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
    other = simulated.drifted(units, array, only(**{knob: 0.3}, scale=0.5), rng(2))
    for each in fields(Units):
        before, after = getattr(units, each.name), getattr(other, each.name)
        if each.name != field:
            np.testing.assert_array_equal(after, before)
        else:
            change = np.log(after / before) if field == "depth" else after - before
            assert change.std() == pytest.approx(0.15, rel=0.05)


def test_turnover_replaces_its_share_of_units():
    array, units = many_units()
    turned = simulated.drifted(units, array, only(turnover=0.4), rng(2))
    assert np.mean(turned.lag_s != units.lag_s) == pytest.approx(0.4, abs=0.03)


def test_as_many_channels_are_silent_on_either_day():
    array, drift = ArraySettings(n_channels=100, silent=0.4), only(lost=0.5, scale=0.5)
    day_a, day_b = simulated.silent_channels(array, drift, rng(2))
    assert day_a.sum() == day_b.sum() == 40
    # A quarter of the 60 channels with neurons is lost, and as many are gained.
    assert (day_b & ~day_a).sum() == (day_a & ~day_b).sum() == 15
    none = simulated.silent_channels(array, only(lost=0.5, scale=0.0), rng(2))
    np.testing.assert_array_equal(*none)


def test_silent_channels_record_noise_alone():
    array, units = many_units()
    silent = rng(3).random(3000) < 0.3
    heard = simulated.silenced(units, silent, array)
    gone = silent[units.channel]
    assert np.all(np.isneginf(heard.log_rate[gone & units.is_sorted]))
    for channel in np.flatnonzero(silent)[:20]:
        here = units.channel == channel
        before, after = np.exp(units.log_rate[here]), np.exp(heard.log_rate[here])
        assert after[0] == pytest.approx(array.noise_rate * before.sum())
    assert not any(np.any(getattr(heard, name)[gone]) for name in ("depth", "speed", "position"))
    np.testing.assert_array_equal(heard.depth[~gone], units.depth[~gone])
    np.testing.assert_array_equal(heard.log_rate[~gone], units.log_rate[~gone])


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("drift", DriftSettings(lost=1.2), r"dataset\.simulated\.drift\.lost: 1\.2 is no share"),
        ("drift", DriftSettings(scale=-1.0), r"drift\.scale: -1\.0 cannot be"),
        ("array", ArraySettings(unit_hz=0.0), r"array\.unit_hz: 0\.0 cannot be.*above 0"),
        ("array", ArraySettings(sorted_shares=(0.0,)), r"sorted_shares: .* adds up to nothing"),
        ("task", TaskSettings(duration_a_s=float("nan")), r"duration_a_s: nan cannot be"),
        ("task", TaskSettings(grid_side=1), r"grid_side: a grid of one target"),
    ],
)
def test_a_magnitude_that_cannot_be_is_named(part, value, message):
    with pytest.raises(OrlaError, match=message):
        Settings(**{part: value})


def test_magnitudes_at_their_limits_are_fine():
    Settings(drift=DriftSettings(scale=0.0, lost=1.0), task=TaskSettings(start_s=-3.0))


def cells(path, name):
    with h5py.File(path) as file:
        return [[file[ref][()].ravel() for ref in row] for row in file[name][()].T]


def write(folder, settings=SMALL, seed=0):
    folder.mkdir(exist_ok=True)
    paths = folder / "a.mat", folder / "b.mat"
    simulated.write(*paths, settings, seed)
    return paths


def test_files_have_the_layout_of_the_recordings(tmp_path):
    path, _ = write(tmp_path)
    with h5py.File(path) as file:
        assert file["t"].shape == (1, 10_001)
        assert file["cursor_pos"].shape == file["target_pos"].shape == (2, 10_001)
        assert file["finger_pos"].shape == (3, 10_001)
        assert file["spikes"].shape == (5, 6)
        t = file["t"][0]
    names = ["".join(map(chr, row[0])) for row in cells(path, "chan_names")]
    assert names == [f"M1 {i:03d}" for i in range(1, 7)]
    np.testing.assert_allclose(np.diff(t), 0.004, atol=1e-9)
    for row in cells(path, "spikes"):
        assert np.all(np.diff(row[0]) >= 0) and t[0] <= row[0][0] and row[0][-1] <= t[-1]


def test_a_seed_names_its_files(tmp_path):
    first, again = write(tmp_path / "1"), write(tmp_path / "2")
    other = write(tmp_path / "3", seed=1)
    for one, two, three in zip(first, again, other, strict=True):
        assert one.read_bytes() == two.read_bytes()
        assert one.read_bytes() != three.read_bytes()


def test_drift_changes_day_b_alone(tmp_path):
    plain = write(tmp_path / "1")
    drifted = replace(SMALL, drift=replace(SMALL.drift, scale=2.0))
    other = write(tmp_path / "2", drifted)
    assert plain[0].read_bytes() == other[0].read_bytes()
    assert plain[1].read_bytes() != other[1].read_bytes()
