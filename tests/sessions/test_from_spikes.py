"""From spikes to bins; what is fitted on bins, test_from_bins.py holds to NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from made import by_hand_counts, session

from orla.errors import OrlaError
from orla.sessions.account import Account
from orla.sessions.binning import bin_edges, bin_velocities
from orla.sessions.checks import seconds
from orla.sessions.from_spikes import bin_session, prepare
from orla.sessions.preparation import Features, Preparation, Target
from orla.sessions.session import Session

DATASET = {"name": "test", "source": "made here", "simulated": True, "label": "SIMULATED"}


def make(a=None, b=None, tail_steps=200, **settings):
    a, b = a or session("day a", 1), b or session("day b", 2)
    features = Features(settings.pop("reduction", "top_channels"), settings.pop("n_inputs", 3))
    target = Target(settings.pop("target", "cursor"), settings.pop("lag_s", 0.0))
    preparation = Preparation(features=features, target=target, **settings)
    return prepare(a, b, preparation, tail_steps=tail_steps, dataset=DATASET)


@pytest.mark.parametrize("transform", ["sqrt", "none"])
def test_inputs_are_the_channels_of_largest_variance_scaled_by_the_pretraining_part(transform):
    a, b = session("day a", 1), session("day b", 2)
    streams, root = make(a, b, transform=transform), np.sqrt if transform == "sqrt" else np.array
    n = len(streams.a) - 200
    counts = by_hand_counts(a, bin_edges(a.time_s, 0.05), "all")
    variances = [np.var(counts[:n, c]) for c in range(4)]
    kept = sorted(np.argsort(variances)[1:])
    assert streams.dataset["features"]["channels"] == [a.channels[c] for c in kept]
    roots = root(counts[:, kept])
    expected = (roots - roots[:n].mean(0)) / roots[:n].std(0)
    np.testing.assert_allclose(streams.a.X, expected, atol=1e-12)
    roots_b = root(by_hand_counts(b, bin_edges(b.time_s, 0.05), "all")[:, kept])
    np.testing.assert_allclose(streams.b.X, (roots_b - roots[:n].mean(0)) / roots[:n].std(0))
    np.testing.assert_allclose(streams.a.Y[:n].mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(streams.a.Y[:n].std(0), 1.0)


def without_crossings(s: Session) -> Session:
    pairs = zip(s.unit_spikes, s.unit_sorted, strict=True)
    return replace(s, unit_spikes=[x if is_sorted else np.empty(0) for x, is_sorted in pairs])


def test_sorted_units_alone_are_counted_where_asked():
    days = session("day a", 1), session("day b", 2)
    chosen = make(*days, units="sorted")
    expected = make(*map(without_crossings, days))
    np.testing.assert_array_equal(chosen.a.X, expected.a.X)
    np.testing.assert_array_equal(chosen.b.X, expected.b.X)


def test_electrodes_are_matched_by_name():
    b = session("day b", 2)
    reversed_b = Session(
        "day b",
        b.channels[::-1],
        b.unit_spikes,
        3 - b.unit_channel,
        b.unit_sorted,
        b.time_s,
        b.behavior,
    )
    np.testing.assert_array_equal(make(b=reversed_b).b.X, make(b=b).b.X)
    # The control: the same spikes under other names are another stream.
    renamed = session("day b", 2, names=["M1 004", "M1 003", "M1 002", "M1 001"])
    assert np.abs(make(b=renamed).b.X - make(b=b).b.X).max() > 0.1


def test_finger_velocity_and_lag():
    plain, lagged = make(), make(lag_s=0.1)
    # At a lag of two bins the target of a bin is the velocity two bins later.
    assert len(lagged.a) == len(plain.a) - 2
    raw = [
        bin_velocities(s.time_s, s.behavior["cursor_pos"], bin_edges(s.time_s, 0.05))
        for s in (session("day a", 1), session("day b", 2))
    ]
    n = len(lagged.a) - 200
    mean, sd = raw[0][2 : n + 2].mean(0), raw[0][2 : n + 2].std(0)
    np.testing.assert_allclose(lagged.b.Y, (raw[1][2:] - mean) / sd, atol=1e-9)
    # The finger moves twice as far here, which z-scoring takes out; its absence is an error.
    np.testing.assert_allclose(make(target="finger").b.Y, plain.b.Y, atol=1e-9)
    a = session("day a", 1)
    del a.behavior["finger_pos"]
    with pytest.raises(OrlaError, match="day a: no finger_pos"):
        make(a, target="finger")


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (dict(n_inputs=5), "day a: 4 channels, fewer than the 5 inputs.*lower features.count"),
        (dict(bin_s=40.0), "day a: too short: 60.000 s gives 1 bins"),
        (dict(tail_steps=1200), "a_pretraining is empty"),
    ],
)
def test_bad_settings_are_named_with_their_mend(settings, names):
    with pytest.raises(OrlaError, match=names) as caught:
        make(**settings)
    assert "\n" not in str(caught.value)


def test_a_silent_channel_is_named():
    a = session("day a", 1)
    a.unit_spikes = [
        np.empty(0) if c == 2 else s for s, c in zip(a.unit_spikes, a.unit_channel, strict=True)
    ]
    with pytest.raises(OrlaError, match="day a: channel 'M1 003' is constant"):
        make(a, n_inputs=4)
    make(a, n_inputs=3)


def test_a_resting_cursor_is_named():
    a = session("day a", 1)
    a.behavior["cursor_pos"][:, 1] = 0.2
    with pytest.raises(OrlaError, match="day a: velocity y is constant"):
        make(a)


def test_a_channel_missing_on_b_is_named():
    b = session("day b", 2, names=["M1 001", "M1 002", "M1 099", "M1 004"])
    with pytest.raises(OrlaError, match=r"day b: lacks 1 of the 3 channels.*'M1 003'"):
        make(b=b)


def test_an_account_says_what_was_left_out_and_why():
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


def test_one_line_tells_the_account_of_a_recording_and_warns_of_few_channels(capsys):
    real = DATASET | {"simulated": False}
    preparation = Preparation(features=Features(count=1))
    days = session("day a", 1), session("day b", 2)
    prepare(*days, preparation, tail_steps=200, dataset=real)
    said = capsys.readouterr().err
    assert "day a: 1200 steps, 60.0 of 60.0 s" in said
    assert "1 of 4 channels, on which 8 units are pooled; channels are same" in said
    assert "warning: only 1 of 4 channels are inputs; features.count" in said
    make()  # of simulated days nothing is said
    assert not capsys.readouterr().err


def test_a_gap_ends_a_stretch_of_bins_and_no_bin_spans_it():
    """Positions are lost for 1.02 s: bins of each side are those of a session of its own."""
    a = session("day a", 1)
    lost = (a.time_s > 20.0) & (a.time_s < 21.02)
    a.behavior["cursor_pos"][lost] = np.nan
    whole = bin_session(a, Preparation())
    kept = [a.time_s[a.time_s <= 20.0], a.time_s[a.time_s >= 21.02]]
    edges = [bin_edges(t, 0.05) for t in kept]
    counts = np.concatenate([by_hand_counts(a, e, "all") for e in edges])
    np.testing.assert_array_equal(whole.inputs, counts)
    assert np.flatnonzero(whole.begins).tolist() == [0, len(edges[0]) - 1]
    assert np.isfinite(whole.targets).all()
    a.behavior["cursor_pos"][10:-10] = np.nan
    with pytest.raises(OrlaError, match=r"day a: too short|of 60\.0 s are left"):
        bin_session(a, Preparation())


def test_events_on_edges_land_where_whole_numbers_put_them():
    """Times are milliseconds: an exact count of integers, at any offset and in single precision."""
    rng = np.random.default_rng(0)
    for start_ms in (0, 7_013_000):
        for stored in (np.float64, np.float32):
            ms = np.sort(rng.integers(0, 60_000, 4000))
            ms[::2] = ms[::2] // 50 * 50  # half of them on edges
            times = np.sort((start_ms + ms).astype(float)) / 1000
            a = session("day", 1)
            a.time_s = (start_ms + 4 * np.arange(15_001)) / 1000
            a.unit_spikes = [seconds(times.astype(stored))] + [np.empty(0)] * 7
            exact = np.bincount(np.sort(ms) // 50, minlength=1200)
            np.testing.assert_array_equal(bin_session(a, Preparation()).inputs[:, 0], exact)
            # The control: what was stored in single precision, taken as it is, lands elsewhere.
            a.unit_spikes[0] = times.astype(np.float32).astype(float)
            assert (bin_session(a, Preparation()).inputs[:, 0] != exact).any()


def test_times_that_are_exact_stay_as_they_are():
    for times in (np.arange(999) / 256, np.arange(9.0), np.pi * np.arange(9), np.array([0.1, 0.3])):
        np.testing.assert_array_equal(seconds(times), times)
    np.testing.assert_array_equal(seconds(np.float32([0.7, 12.3456])), [0.7, 12.3456])


def test_values_are_averaged_over_each_bin_and_not_differentiated():
    a = session("day a", 1)
    values = np.column_stack([np.sin(a.time_s), np.full(len(a.time_s), 3.0), a.time_s])
    a = replace(a, behavior={"cursor_values": values}, unit="N")
    targets = bin_session(a, Preparation()).targets
    edges = bin_edges(a.time_s, 0.05)
    expected = -np.diff(np.cos(edges)) / 0.05
    np.testing.assert_allclose(targets[:, 0], expected, atol=1e-4)
    np.testing.assert_allclose(targets[:, 1], 3.0)
    np.testing.assert_allclose(targets[:, 2], (edges[1:] + edges[:-1]) / 2, atol=1e-4)


def test_cursors_from_different_series_are_refused():
    b = replace(session("day b", 2), cursor="hand_pos")
    with pytest.raises(OrlaError, match="day b: its cursor is hand_pos, but cursor_pos in day a"):
        make(b=b)
    make(replace(session("day a", 1), cursor="hand_pos"), b)


@pytest.mark.parametrize("option", ["", "nwb.channels"])
def test_a_refusal_of_two_subjects_names_the_option_of_the_source_that_has_one(option):
    days = session("indy_1", 1), session("loco_1", 2)
    days[0].subject, days[1].subject = "indy", "loco"
    mends = rf'set {option} to "same" where they are, else features' if option else "set features"
    with pytest.raises(OrlaError, match=rf"of loco\); {mends} to \{{method: pca"):
        prepare(*days, Preparation(), tail_steps=200, dataset=DATASET, option=option)
