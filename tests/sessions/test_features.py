import math
from dataclasses import replace

import numpy as np
import pytest

from orla.errors import OrlaError
from orla.sessions.binned import Binned
from orla.sessions.features import (
    FeatureSettings,
    Projection,
    bin_edges,
    bin_velocities,
    channel_counts,
    prepare,
    prepare_binned,
    top_channels,
)
from orla.sessions.session import Session

DATASET = {"name": "test", "source": "made here", "simulated": True, "label": "SIMULATED"}


def session(
    name="day", seed=0, seconds=60.0, rates=(5.0, 20.0, 40.0, 10.0), names=None, start=3.0
) -> Session:
    """Each channel has unsorted crossings and one sorted unit at a fifth of its rate."""
    rng = np.random.default_rng(seed)
    time_s = start + np.arange(round(seconds * 250) + 1) / 250
    phase = time_s[:, None] * [2.0, 3.1] + rng.uniform(0, 6, 2)
    cursor = 0.05 * np.sin(phase) + 0.02 * np.sin(0.37 * phase)
    spikes, channel, is_sorted = [], [], []
    for i, rate in enumerate(rates):
        for part, kind in ((1.0, False), (0.2, True)):
            n = rng.poisson(rate * part * seconds)
            spikes.append(np.sort(rng.uniform(start, start + seconds, n)))
            channel.append(i)
            is_sorted.append(kind)
    return Session(
        name,
        list(names or (f"M1 {i + 1:03d}" for i in range(len(rates)))),
        spikes,
        np.array(channel),
        np.array(is_sorted),
        time_s,
        {"cursor_pos": cursor, "finger_pos": 2 * cursor},
    )


def make(a=None, b=None, tail_steps=200, **settings):
    a, b = a or session("day a", 1), b or session("day b", 2)
    settings = FeatureSettings(**{"n_inputs": 3, **settings})
    return prepare(a, b, settings, tail_steps=tail_steps, dataset=DATASET)


def by_hand_counts(session, edges, units):
    counts = np.zeros((len(edges) - 1, len(session.channels)))
    for times, channel, is_sorted in zip(
        session.unit_spikes, session.unit_channel, session.unit_sorted, strict=True
    ):
        for time in times:
            for i in range(len(edges) - 1):
                if edges[i] <= time < edges[i + 1] and (units == "all" or is_sorted):
                    counts[i, channel] += 1
    return counts


def test_bins_by_hand():
    s = session(rates=(1.0, 1.0))
    s.unit_spikes = [
        np.array([3.0, 3.049, 3.05, 3.1, 3.24]),
        np.array([3.01]),
        np.array([3.249, 3.25]),
        np.empty(0),
    ]
    edges = np.array([3.0, 3.05, 3.1, 3.15, 3.2, 3.25])
    assert channel_counts(s, edges).tolist() == [[3, 0], [1, 0], [1, 0], [0, 0], [1, 1]]
    assert channel_counts(s, edges, "sorted").tolist() == [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("units", ["all", "sorted"])
def test_counts_agree_with_a_loop_over_events(units):
    s = session(seconds=2.0)
    edges = bin_edges(s.time_s, 0.05)
    np.testing.assert_array_equal(channel_counts(s, edges, units), by_hand_counts(s, edges, units))


def test_edges_start_at_the_first_sample_and_end_within_the_last():
    edges = bin_edges(np.arange(0.0, 1.0001, 0.004) + 7.0, 0.05)
    np.testing.assert_allclose(edges, 7.0 + 0.05 * np.arange(21))
    short = bin_edges(np.arange(0.0, 0.9961, 0.004), 0.05)
    assert len(short) == 20


def test_a_lag_keeps_the_bins_whose_target_exists():
    time_s = np.arange(0.0, 1.0001, 0.004)
    np.testing.assert_allclose(bin_edges(time_s, 0.1, 0.25), 0.1 * np.arange(8))
    np.testing.assert_allclose(bin_edges(time_s, 0.1, -0.25), 0.1 * np.arange(3, 11))


def test_velocity_is_the_mean_of_the_derivative_over_the_bin():
    time_s = np.arange(0.0, 2.0001, 0.004)
    position = np.column_stack([0.03 * time_s**2, np.full_like(time_s, 0.4)])
    edges = bin_edges(time_s, 0.05)
    velocity = bin_velocities(time_s, position, edges)
    middle = (edges[:-1] + edges[1:]) / 2
    # Linear interpolation of a parabola between samples 4 ms apart errs by under 1.2e-7 m.
    np.testing.assert_allclose(velocity[:, 0], 1000 * 2 * 0.03 * middle, atol=0.01)
    np.testing.assert_allclose(velocity[:, 1], 0.0, atol=1e-9)


def test_edges_between_samples_are_interpolated():
    velocity = bin_velocities(
        np.array([0.0, 1.0, 2.0]),
        np.array([[0.0, 0.0], [1.0, 4.0], [1.0, 4.0]]),
        np.array([0.5, 1.5]),
    )
    np.testing.assert_allclose(velocity, [[500.0, 2000.0]])


def test_inputs_are_the_channels_of_largest_variance_scaled_by_the_pretraining_part():
    a, b = session("day a", 1), session("day b", 2)
    streams = make(a, b)
    n = len(streams.a) - 200
    counts = by_hand_counts(a, bin_edges(a.time_s, 0.05), "all")
    variances = [np.var(counts[:n, c]) for c in range(4)]
    kept = sorted(np.argsort(variances)[1:])
    assert streams.dataset["features"]["channels"] == [a.channels[c] for c in kept]
    roots = np.sqrt(counts[:, kept])
    expected = (roots - roots[:n].mean(0)) / roots[:n].std(0)
    np.testing.assert_allclose(streams.a.X, expected, atol=1e-12)
    roots_b = np.sqrt(by_hand_counts(b, bin_edges(b.time_s, 0.05), "all")[:, kept])
    np.testing.assert_allclose(streams.b.X, (roots_b - roots[:n].mean(0)) / roots[:n].std(0))
    np.testing.assert_allclose(streams.a.Y[:n].mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(streams.a.Y[:n].std(0), 1.0)


def with_more_spikes(s: Session, start: float, stop: float) -> Session:
    """The first channel bursts between two times."""
    extra = np.linspace(start, stop, 4000, endpoint=False)
    s.unit_spikes[0] = np.sort(np.concatenate([s.unit_spikes[0], extra]))
    return s


def test_nothing_is_fitted_on_the_tail_of_a_or_on_b():
    plain = make()
    n = len(plain.a) - 200
    tail_start = 3.0 + n * 0.05
    a = with_more_spikes(session("day a", 1), tail_start, 63.0)
    a.behavior["cursor_pos"][a.time_s > tail_start] *= 5
    b = with_more_spikes(session("day b", 2), 3.0, 63.0)
    other = make(a, b)
    assert other.dataset == plain.dataset
    np.testing.assert_array_equal(other.a.X[:n], plain.a.X[:n])
    np.testing.assert_array_equal(other.a.Y[:n], plain.a.Y[:n])
    # The control: the same burst inside the pretraining part changes channels and scaling.
    changed = make(with_more_spikes(session("day a", 1), 3.0, 33.0))
    assert changed.dataset["features"]["channels"] != plain.dataset["features"]["channels"]
    assert np.abs(changed.b.X - plain.b.X).max() > 0.1


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


def test_pca_of_matching_channels_is_fitted_on_a_alone():
    a, b = session("day a", 1), session("day b", 2)
    streams = make(a, b, reduction="pca", n_inputs=2)
    n = len(streams.a) - 200
    roots = [np.sqrt(by_hand_counts(s, bin_edges(s.time_s, 0.05), "all")) for s in (a, b)]
    mean = roots[0][:n].mean(0)
    values, vectors = np.linalg.eigh(np.cov((roots[0][:n]).T))
    vectors = vectors[:, ::-1][:, :2] * np.where(vectors[:, ::-1][:, :2].sum(0) < 0, -1, 1)
    sd = np.sqrt(values[::-1][:2] * (n - 1) / n)
    np.testing.assert_allclose(streams.b.X, (roots[1] - mean) @ vectors / sd, atol=1e-8)


def binned_days():
    rng = np.random.default_rng(4)
    latent = [rng.standard_normal((n, 2)) for n in (900, 830)]
    days = []
    for z, columns in zip(latent, (17, 15), strict=True):
        rates = np.exp(0.6 * z @ rng.standard_normal((2, columns)) + 1.0)
        days.append(Binned(rng.poisson(rates), z * 100.0, 0.1))
    return days


def binned(a, b, n_inputs=5, b_fit_steps=320):
    return prepare_binned(
        a, b, n_inputs=n_inputs, tail_steps=0.3, b_fit_steps=b_fit_steps, dataset=DATASET
    )


def test_binned_days_with_other_columns_become_components():
    a, b = binned_days()
    streams = binned(a, b)
    assert streams.a.X.shape == (900, 5) and streams.b.X.shape == (830, 5)
    np.testing.assert_allclose(streams.a.X[:630].std(0), 1.0)
    assert "first 320 steps" in streams.dataset["features"]["fitted_on"]
    # Two latents drive the counts: the first two components must carry them on either day.
    for stream, z in ((streams.a, a.velocities), (streams.b, b.velocities)):
        fit, *_ = np.linalg.lstsq(stream.X[:, :2], z - z.mean(0), rcond=None)
        assert np.corrcoef((stream.X[:, :2] @ fit).T, z.T)[:2, 2:].diagonal().min() > 0.8


def test_binned_components_do_not_see_what_is_scored():
    a, b = binned_days()
    plain = binned(a, b)
    counts = b.counts.copy()
    counts[320:] = counts[320:][:, ::-1]
    other = binned(a, replace(b, counts=counts, velocities=b.velocities * 3))
    np.testing.assert_array_equal(other.b.X[:320], plain.b.X[:320])
    # The control: what changes inside the fitted steps changes the components.
    counts[:320] = counts[:320] // 2
    assert np.abs(binned(a, replace(b, counts=counts)).b.X[:320] - plain.b.X[:320]).max() > 0.1


def test_binned_days_with_too_few_columns():
    a, b = binned_days()
    with pytest.raises(OrlaError, match=r"session B: 15 .*fewer than the 16 .*lower n_inputs"):
        binned(a, b, n_inputs=16)


def test_binned_days_with_bins_of_different_width():
    a, b = binned_days()
    with pytest.raises(OrlaError, match=r"session B: bin_s is 0.05, but 0.1"):
        binned(a, replace(b, bin_s=0.05))


def test_ties_in_variance_go_to_the_earlier_channel():
    counts = np.array([[0, 1, 0, 2], [1, 0, 1, 0]])
    assert top_channels(counts, 3).tolist() == [0, 1, 3]


def test_projection_is_orthonormal():
    rows = np.random.default_rng(0).standard_normal((50, 6))
    weights = Projection.fit(rows, 4, "x").weights
    np.testing.assert_allclose(weights.T @ weights, np.eye(4), atol=1e-12)
    assert (weights.sum(axis=0) > 0).all()


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (dict(n_inputs=5), "day a: 4 channels, fewer than the 5 inputs.*lower n_inputs"),
        (dict(bin_s=40.0), "day a: too short: 60.000 s gives 1 bins"),
        (dict(tail_steps=1200), "a_pretraining is empty"),
        (dict(units="some"), "units: 'some' is not known; choose one of all, sorted"),
        (dict(target="hand"), "target: 'hand'"),
        (dict(reduction="ica"), "reduction: 'ica'"),
        (dict(bin_s=0.0), "bin_s: 0.0"),
        (dict(bin_s=math.nan), "bin_s: nan"),
        (dict(n_inputs=0), "n_inputs: 0"),
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


def test_nan_positions_are_named():
    b = session("day b", 2)
    b.behavior["cursor_pos"][17, 0] = np.nan
    with pytest.raises(OrlaError, match="day b: cursor_pos has NaN"):
        make(b=b)


def test_a_channel_missing_on_b_is_named():
    b = session("day b", 2, names=["M1 001", "M1 002", "M1 099", "M1 004"])
    with pytest.raises(OrlaError, match=r"day b: chan_names lacks 1 channels.*'M1 003'"):
        make(b=b)
