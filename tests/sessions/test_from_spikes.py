"""From spikes to bins; what is fitted on bins, test_from_bins.py holds to NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from made import by_hand_counts, session

from orla.errors import OrlaError
from orla.sessions.channels import judge_correspondence, top_channels
from orla.sessions.clocks import restore_time_decimals
from orla.sessions.from_spikes import (
    bin_session,
    bin_velocities_mm_s,
    channel_counts,
    prepare_sessions,
    unshifted_bin_edges,
)
from orla.sessions.preparation import Features, Preparation, Target
from orla.sessions.session import Account

DATASET = {"name": "test", "source": "made here", "simulated": True, "label": "SIMULATED"}


def make(a=None, b=None, tail_steps=200, channels=None, option="", dataset=DATASET, **settings):
    a, b = a or session("day a", 1), b or session("day b", 2)
    features = Features(count=settings.pop("n_inputs", 3))
    target = Target(settings.pop("target", "cursor"), settings.pop("lag_s", 0.0))
    preparation = Preparation(features=features, target=target, **settings)
    about = {"tail_steps": tail_steps, "dataset": dataset, "declared_channels": channels}
    about["declaring_option"] = option
    return prepare_sessions(a, b, preparation, **about)


def test_channel_counts_pool_units_per_half_open_bin_or_sorted_units_alone():
    s = session(rates=(1.0, 1.0))
    of_first = np.array([3.0, 3.049, 3.05, 3.1, 3.24]), np.array([3.01])
    s.unit_spikes = [*of_first, np.array([3.249, 3.25]), np.empty(0)]
    edges = np.array([3.0, 3.05, 3.1, 3.15, 3.2, 3.25])
    assert channel_counts(s, edges).tolist() == [[3, 0], [1, 0], [1, 0], [0, 0], [1, 1]]
    assert channel_counts(s, edges, "sorted").tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("last", "bin_s", "lag_s", "expected"),
    [
        (1.0, 0.05, 0.0, 0.05 * np.arange(21)),
        (0.996, 0.05, 0.0, 0.05 * np.arange(20)),
        # 0.3 / 0.1 is 2.9999999999999996
        (0.3, 0.1, 0.0, 0.1 * np.arange(4)),
        # A lag keeps the bins whose target exists.
        (1.0, 0.1, 0.25, 0.1 * np.arange(8)),
        (1.0, 0.1, -0.25, 0.1 * np.arange(3, 11)),
    ],
)
@pytest.mark.parametrize("start", [0.0, 7.0])
def test_edges_start_at_the_first_sample_and_end_within(last, bin_s, lag_s, expected, start):
    edges = unshifted_bin_edges(start + np.array([0.0, last]), bin_s, lag_s)
    np.testing.assert_allclose(edges, start + expected, atol=1e-12)


def test_velocity_is_the_mean_of_the_derivative_over_the_bin():
    time_s = np.arange(0.0, 2.0001, 0.004)
    position = np.column_stack([0.03 * time_s**2, np.full_like(time_s, 0.4)])
    edges = unshifted_bin_edges(time_s, 0.05)
    velocity = bin_velocities_mm_s(time_s, position, edges)
    middle = (edges[:-1] + edges[1:]) / 2
    # Linear interpolation of a parabola between samples 4 ms apart errs by under 1.2e-7 m.
    np.testing.assert_allclose(velocity[:, 0], 1000 * 2 * 0.03 * middle, atol=0.01)
    np.testing.assert_allclose(velocity[:, 1], 0.0, atol=1e-9)
    between = np.array([[0.0, 0.0], [1.0, 4.0], [1.0, 4.0]])
    velocity = bin_velocities_mm_s(np.arange(3.0), between, np.array([0.5, 1.5]))
    np.testing.assert_allclose(velocity, [[500.0, 2000.0]])


def test_channels_of_the_largest_variance_are_taken_and_earlier_ones_first():
    assert top_channels(np.array([[0, 1, 0, 2], [1, 0, 1, 0]]), 3).tolist() == [0, 1, 3]
    # Many steady counts are no variance.
    assert top_channels(np.array([[9, 0, 1], [9, 2, 1]]), 1).tolist() == [1]


def test_channels_of_two_subjects_are_different_unless_declared():
    a, b = session("indy_1"), session("loco_1")
    assert judge_correspondence(a, b).columns == "same"
    a.subject, b.subject = "indy", ""
    assert "no other subject is named" in judge_correspondence(a, b).because
    b.subject = "loco"
    found = judge_correspondence(a, b)
    assert found.columns == "different" and "indy_1 is of subject indy" in found.because
    assert not found.names_last and judge_correspondence(a, b, "different").names_last
    assert judge_correspondence(a, b, "same").columns == "same"
    for option, mends in (("", "set features"), ("x", 'set x to "same" where they are, else fe')):
        with pytest.raises(OrlaError, match=rf"of loco\); {mends}"):
            make(a, b, option=option)


@pytest.mark.parametrize(("transform", "units"), [("sqrt", "all"), ("none", "sorted")])
def test_inputs_are_the_channels_of_largest_variance_scaled_on_a(transform, units):
    a, b = session("day a", 1), session("day b", 2)
    streams = make(a, b, transform=transform, units=units)
    root, n = np.sqrt if transform == "sqrt" else np.array, len(streams.a) - 200
    counts = by_hand_counts(a, unshifted_bin_edges(a.time_s, 0.05), units)
    kept = sorted(np.argsort([np.var(counts[:n, c]) for c in range(4)])[1:])
    assert streams.dataset["features"]["channels"] == [a.channels[c] for c in kept]
    mean, sd = (f(root(counts[:n, kept]), axis=0) for f in (np.mean, np.std))
    for stream, day in ((streams.a, a), (streams.b, b)):
        roots = root(by_hand_counts(day, unshifted_bin_edges(day.time_s, 0.05), units)[:, kept])
        np.testing.assert_allclose(stream.X, (roots - mean) / sd, atol=1e-12)
    np.testing.assert_allclose(streams.a.Y[:n].mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(streams.a.Y[:n].std(0), 1.0)


def test_electrodes_are_matched_by_name():
    b = session("day b", 2)
    listed = replace(b, channels=b.channels[::-1], unit_channel=3 - b.unit_channel)
    np.testing.assert_array_equal(make(b=listed).b.X, make(b=b).b.X)
    # The control: the same spikes under other names are another stream.
    renamed = session("day b", 2, names=["M1 004", "M1 003", "M1 002", "M1 001"])
    assert np.abs(make(b=renamed).b.X - make(b=b).b.X).max() > 0.1


def test_lag_pairs_bins_with_later_velocity_and_finger_targets_are_z_scored():
    plain, lagged = make(), make(lag_s=0.1)
    # At a lag of two bins the target of a bin is the velocity two bins later.
    assert len(lagged.a) == len(plain.a) - 2
    raw = [
        bin_velocities_mm_s(s.time_s, s.behavior["cursor_pos"], unshifted_bin_edges(s.time_s, 0.05))
        for s in (session("day a", 1), session("day b", 2))
    ]
    fitted = raw[0][2 : len(lagged.a) - 198]
    expected = (raw[1][2:] - fitted.mean(0)) / fitted.std(0)
    np.testing.assert_allclose(lagged.b.Y, expected, atol=1e-9)
    # The finger moves twice as far here, which z-scoring takes out.
    np.testing.assert_allclose(make(target="finger").b.Y, plain.b.Y, atol=1e-9)


def with_change(name="day a", **changes):
    """A day of which some fields are other ones, given or made of it."""
    day = session(name, 1)
    made = {field: value(day) if callable(value) else value for field, value in changes.items()}
    return replace(day, **made)


def silenced(day):
    trains = zip(day.unit_spikes, day.unit_channel, strict=True)
    return [np.empty(0) if channel == 2 else times for times, channel in trains]


def resting(day):
    return {"cursor_pos": day.behavior["cursor_pos"] * [1, 0]}


def lost(day):
    day.behavior["cursor_pos"][10:-10] = np.nan
    return day.behavior


RENAMED = session("day b", 2, names=["M1 001", "M1 002", "M1 099", "M1 004"])
NO_UNITS = with_change(unit_sorted=lambda day: np.zeros_like(day.unit_sorted))
RESTING = with_change(behavior=resting)
OTHER = with_change("day b", cursor="hand_pos")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_inputs": 5}, "day a: 4 channels, fewer than the 5 inputs.*lower features.count"),
        ({"bin_s": 40.0}, "day a: too short: 60.000 s gives 1 bins"),
        ({"tail_steps": 1200}, "a_pretraining is empty"),
        ({"a": RESTING, "target": "finger"}, "day a: no finger_pos"),
        ({"a": RESTING}, r"velocity y is constant .*; set nwb.columns to \[0\], or"),
        ({"a": NO_UNITS, "units": "sorted"}, 'is constant .*; set preparation.units to "all", ask'),
        ({"a": with_change(behavior=lost)}, r"day a: too short|of 60\.0 s are left"),
        (
            {"a": with_change(left_out=lambda _: [("between trials", 0.0, 99.0)])},
            r"units were recorded are left \(between trials\); mend these, or use another file",
        ),
        (
            {"a": with_change(time_s=lambda day: 1000 * day.time_s)},
            r"set preparation\.bin_s to 4 or more, unless the clock is not in seconds",
        ),
        ({"a": with_change(unit_spikes=silenced), "n_inputs": 4}, "channel 'M1 003' is constant"),
        ({"b": RENAMED}, r"day b: lacks 1 of the 3 channels.*'M1 003'"),
        ({"b": with_change("day b")}, "day a and day b hold the same steps; give two recordings"),
        ({"b": OTHER}, "day b: its cursor is hand_pos, but cursor_pos in day a"),
    ],
)
def test_days_and_settings_that_cannot_be_are_named_with_their_mend(arguments, words):
    with pytest.raises(OrlaError, match=words) as caught:
        make(**arguments)
    assert "\n" not in str(caught.value)


def test_a_cursor_of_both_days_and_a_silent_channel_not_chosen_are_accepted():
    day_b = replace(session("day b", 2), cursor="hand_pos")
    make(with_change(cursor="hand_pos", unit_spikes=silenced), day_b, n_inputs=3)


def test_an_account_says_what_was_left_out_and_why(capsys):
    a = session("day a", 1)
    a.source, a.left_out = "A recording.", [("invalid_times", 10.0, 20.0)]
    a.unit_spikes[1] = np.concatenate([a.unit_spikes[1], [70.0, 71.0]])
    account = Account(**make(a, units="sorted").dataset["account"]["a"])
    by_hand = [x for x, s in zip(a.unit_spikes, a.unit_sorted, strict=True) if s]
    lost = sum(((x > 9.95) & (x < 20.05)).sum() for x in by_hand)
    assert account.spikes == sum(map(len, a.unit_spikes))
    assert account.spikes_dropped["outside the positions' times"] == 2
    assert account.spikes_dropped["in seconds dropped"] == pytest.approx(lost, abs=5)
    assert account.spikes_dropped["not sorted"] == account.spikes - sum(map(len, by_hand))
    assert account.seconds == 60.0 and account.stretches == 2
    assert account.seconds_dropped["invalid_times"] == pytest.approx(10.0, abs=0.005)
    assert account.steps == pytest.approx(998, abs=1) and account.scored == account.steps - 1
    assert sum(account.seconds_dropped.values()) == pytest.approx(60 - 0.05 * account.steps)
    assert (account.units, account.channels, account.of_channels) == (4, 3, 4)
    assert (account.correspondence, account.source) == ("same", "A recording.")
    assert not capsys.readouterr().err  # of simulated days nothing is said
    make(n_inputs=1, dataset=DATASET | {"simulated": False})
    said = capsys.readouterr().err
    assert "day a: 1200 steps, 60.0 of 60.0 s" in said
    assert "1 of 4 channels, on which 8 units are pooled; channels are same" in said
    assert "warning: only 1 of 4 channels are inputs; features.count" in said


def test_a_gap_ends_a_stretch_of_bins_and_no_bin_spans_it():
    """Positions are lost for 1.02 s: bins of each side are those of a session of its own."""
    a = session("day a", 1)
    a.behavior["cursor_pos"][(a.time_s > 20.0) & (a.time_s < 21.02)] = np.nan
    whole = bin_session(a, Preparation())
    kept = [a.time_s[a.time_s <= 20.0], a.time_s[a.time_s >= 21.02]]
    edges = [unshifted_bin_edges(t, 0.05) for t in kept]
    counts = np.concatenate([by_hand_counts(a, e, "all") for e in edges])
    np.testing.assert_array_equal(whole.inputs, counts)
    assert np.flatnonzero(whole.begins).tolist() == [0, len(edges[0]) - 1]
    assert np.isfinite(whole.targets).all()


@pytest.mark.parametrize("start_ms", [0, 7_013_000])
@pytest.mark.parametrize("stored", [np.float64, np.float32])
def test_events_on_edges_land_where_whole_numbers_put_them(start_ms, stored):
    """Times are milliseconds: an exact count of integers, at any offset and in single precision."""
    ms = np.sort(np.random.default_rng(0).integers(0, 60_000, 4000))
    ms[::2] = ms[::2] // 50 * 50  # half of them on edges
    times = np.sort((start_ms + ms).astype(float)) / 1000
    a = session("day", 1)
    a.time_s = (start_ms + 4 * np.arange(15_001)) / 1000
    a.unit_spikes = [restore_time_decimals(times.astype(stored))] + [np.empty(0)] * 7
    exact = np.bincount(np.sort(ms) // 50, minlength=1200)
    np.testing.assert_array_equal(bin_session(a, Preparation()).inputs[:, 0], exact)
    # The control: what was stored in single precision, taken as it is, lands elsewhere.
    a.unit_spikes[0] = times.astype(np.float32).astype(float)
    assert (bin_session(a, Preparation()).inputs[:, 0] != exact).any()


def test_restore_time_decimals_changes_single_precision_times_alone():
    for times in (np.arange(999) / 256, np.arange(9.0), np.pi * np.arange(9), np.array([0.1, 0.3])):
        np.testing.assert_array_equal(restore_time_decimals(times), times)
    np.testing.assert_array_equal(restore_time_decimals(np.float32([0.7, 12.3456])), [0.7, 12.3456])


def test_values_are_averaged_over_each_bin_and_not_differentiated():
    a = session("day a", 1)
    values = np.column_stack([np.sin(a.time_s), np.full(len(a.time_s), 3.0), a.time_s])
    a = replace(a, behavior={"cursor_values": values}, unit="N")
    targets, edges = bin_session(a, Preparation()).targets, unshifted_bin_edges(a.time_s, 0.05)
    np.testing.assert_allclose(targets[:, 0], -np.diff(np.cos(edges)) / 0.05, atol=1e-4)
    np.testing.assert_allclose(targets[:, 1], 3.0)
    np.testing.assert_allclose(targets[:, 2], (edges[1:] + edges[:-1]) / 2, atol=1e-4)


def test_each_column_of_a_position_is_an_output_with_its_name():
    a = session("day a", 1)
    for names in ("x", "xy", "xyz", "0123"):
        place = np.column_stack([(i + 1) * a.time_s for i in range(len(names))])
        binned = bin_session(replace(a, behavior={"cursor_pos": place}), Preparation())
        assert binned.outputs == [f"velocity {name}" for name in names]
        np.testing.assert_allclose(binned.targets[0], 1e3 * np.arange(1, len(names) + 1))
