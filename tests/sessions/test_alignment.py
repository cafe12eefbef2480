from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import polar
from scipy.stats import ortho_group
from statsmodels.multivariate.factor import Factor

from orla.errors import OrlaError
from orla.sessions.account import Account
from orla.sessions.alignment import rotation, stable_channels
from orla.sessions.binned import Binned
from orla.sessions.channels import Correspondence
from orla.sessions.from_bins import prepare_binned
from orla.sessions.preparation import Features, Preparation
from orla.sessions.projection import Projection, factor_analysis
from orla.sessions.reading import Reading

CHANNELS, FIT = 24, 800
UNSTABLE = np.arange(0, CHANNELS, 4)  # a quarter, which change places on day B
METHODS = [("pca", "procrustes"), ("factors", "procrustes"), ("factors", "aligned_factors")]


def days(unstable=()):
    """Two days of one array and one latent space, of which the target is a turn.

    No direction of that space has more variance than another, so that each day's own components
    are turned by chance. Channels `unstable` change places on day B.
    """
    rng = np.random.default_rng(2)
    loadings = ortho_group.rvs(CHANNELS, random_state=3)[:3] * 5.0
    turn = ortho_group.rvs(3, random_state=1)
    keys = [("array", f"array {i}") for i in range(CHANNELS)]
    made = []
    for name, steps in (("A", 2000), ("B", 3000)):
        z = rng.standard_normal((steps, 3))
        order = np.arange(CHANNELS)
        if name == "B" and len(unstable):
            order[unstable] = np.roll(unstable, 1)
        rows = z @ loadings[:, order] + 0.5 * rng.standard_normal((steps, CHANNELS)) + 5.0
        made.append(Binned(rows, z @ turn, 0.1, name=f"day {name}", keys=keys))
    return made


def streams_of(
    a, b, method="factors", align="aligned_factors", columns="different", named=True, **given
):
    features = Features(method, 3, own_fit=FIT, align=align, **{"stable": 0.75} | given)
    how = Preparation(bin_s=0.1, transform="none", features=features)
    known = Correspondence(columns, "the test says so", "binned.columns", named)
    return prepare_binned(a, b, known, how, tail_steps=0.3, dataset={"simulated": True})


def score(streams):
    """R2 on day B of a linear decoder of day A."""
    on_a = np.column_stack([streams.a.X, np.ones(len(streams.a))])
    weights, *_ = np.linalg.lstsq(on_a[:1400], streams.a.Y[:1400], rcond=None)
    outputs = np.column_stack([streams.b.X, np.ones(len(streams.b))]) @ weights
    y = streams.b.Y
    return 1 - ((y - outputs) ** 2).sum() / ((y - y.mean(0)) ** 2).sum()


def test_factor_analysis_is_that_of_statsmodels():
    rows = days()[0].inputs[:, :8]
    loadings, unique = factor_analysis(np.cov(rows.T, bias=True), 3)
    fit = Factor(rows, n_factor=3, method="ml").fit(rng=0)
    sd = rows.std(0)
    theirs = sd[:, None] * fit.loadings
    np.testing.assert_allclose(loadings @ loadings.T, theirs @ theirs.T, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(unique, fit.uniqueness * sd**2, rtol=1e-2)
    # At the maximum of the likelihood its gradient by the unique variances is zero.
    covariance = loadings @ loadings.T + np.diag(unique)
    inverse = np.linalg.inv(covariance)
    gradient = inverse @ (covariance - np.cov(rows.T, bias=True)) @ inverse
    np.testing.assert_allclose(gradient.diagonal(), 0.0, atol=1e-4)


def test_factors_are_their_expectation():
    rows = days()[0].inputs
    projection = Projection.fit(rows, 3, "A", "factors")
    loadings, unique = factor_analysis(np.cov(rows.T, bias=True), 3)
    loadings *= np.where(loadings.sum(0) < 0, -1.0, 1.0)
    # By the other form of the posterior mean: (I + C' R^-1 C)^-1 C' R^-1 (x - mean).
    scaled = loadings.T / unique
    expected = np.linalg.solve(np.eye(3) + scaled @ loadings, scaled @ (rows - rows.mean(0)).T).T
    np.testing.assert_allclose(projection(rows), expected, atol=1e-9)


def test_a_silent_channel_has_no_part_in_factors():
    rows = days()[0].inputs
    rows[:, 5] = 2.0
    projection = Projection.fit(rows, 3, "A", "factors")
    assert np.isfinite(projection.weights).all()
    np.testing.assert_allclose(projection.weights[5], 0.0, atol=1e-12)


def test_a_planted_rotation_is_found_and_unstable_channels_are_told():
    rng = np.random.default_rng(0)
    on_a, turn = rng.standard_normal((CHANNELS, 3)), ortho_group.rvs(3, random_state=4)
    on_b = on_a @ turn.T
    np.testing.assert_allclose(rotation(on_a, on_b), turn, atol=1e-12)
    noisy = on_b + 0.1 * rng.standard_normal(on_b.shape)
    np.testing.assert_allclose(rotation(on_a, noisy), polar(noisy.T @ on_a)[0], atol=1e-9)
    on_b[UNSTABLE] = on_b[np.roll(UNSTABLE, 1)]
    stable = np.setdiff1d(np.arange(CHANNELS), UNSTABLE)
    assert np.array_equal(stable_channels(on_a, on_b, len(stable)), stable)
    np.testing.assert_allclose(rotation(on_a[stable], on_b[stable]), turn, atol=1e-12)
    assert np.abs(rotation(on_a, on_b) - turn).max() > 0.01
    # A channel without loadings on one day is not stable, however little it moves.
    on_a[stable[0]] = on_b[stable[0]] = 0.001
    assert np.array_equal(stable_channels(on_a, on_b, CHANNELS)[:3], [0, 2, 3])


@pytest.mark.parametrize(("method", "align"), METHODS)
def test_a_decoder_of_day_a_reads_day_b_by_aligned_components_alone(method, align):
    streams = streams_of(*days(), method, align)
    assert score(streams) > 0.9 and score(streams_of(*days(), method, None)) < 0.3
    for side in "ab":
        account = Account(**streams.dataset["account"][side])
        share = "18" if align == "aligned_factors" else "24"
        assert f"turned onto A's by {align} over {share} of the 24 channels" in str(account)
    assert len(streams.b) == 3000 - FIT


def test_unstable_channels_are_told_and_lose_less_where_they_are():
    a, b = days(unstable=UNSTABLE)
    stable = streams_of(a, b)
    expected = [f"array {i}" for i in range(CHANNELS) if i not in UNSTABLE]
    assert stable.dataset["features"]["stable"] == expected
    assert score(stable) > score(streams_of(a, b, align="procrustes"))


@pytest.mark.parametrize(("method", "align"), METHODS)
def test_an_array_listed_in_another_order_is_the_same_array(method, align):
    a, b = days()
    order = np.random.default_rng(0).permutation(CHANNELS)
    listed = replace(b, inputs=b.inputs[:, order], keys=[b.keys[i] for i in order])
    plain, other = (streams_of(a, day, method, align) for day in (b, listed))
    np.testing.assert_allclose(other.b.X, plain.b.X, atol=1e-5)
    # Without names columns are taken for what they are not.
    unnamed = [replace(day, keys=[*range(CHANNELS)]) for day in (a, listed)]
    assert score(streams_of(*unnamed, method, align)) < 0.5 * score(plain)


@pytest.mark.parametrize(("method", "align"), METHODS)
def test_no_step_after_the_alignment_part_changes_the_projection(method, align):
    a, b = days()
    plain = streams_of(a, b, method, align).readings["b"]
    later, earlier = b.inputs.copy(), b.inputs.copy()
    later[FIT:] = later[FIT:, ::-1] * 2 + 1
    earlier[FIT - 1] *= 2
    rows = replace(b, inputs=later, targets=3 * b.targets)
    assert streams_of(a, rows, method, align).readings["b"] == plain
    assert streams_of(a, replace(b, inputs=earlier), method, align).readings["b"] != plain


@pytest.mark.parametrize(
    ("method", "align", "columns"),
    [*((*each, "different") for each in METHODS), ("pca", None, "same"), ("factors", None, "same")]
    + [("top_channels", None, "same")],
)
def test_a_reading_gives_the_inputs_of_a_stream(method, align, columns):
    a, b = days()
    streams = streams_of(a, b, method, align, columns)
    for side, day, steps in (("a", a, 0), ("b", b, 3000 - len(streams.b))):
        reading = Reading.from_record(streams.readings[side])
        inputs = getattr(streams, side).X
        np.testing.assert_allclose(reading(day.inputs[steps:]), inputs, atol=1e-9)
        two = reading.part(np.array([2, 0]))
        np.testing.assert_allclose(two(day.inputs[steps:]), inputs[:, [2, 0]], atol=1e-9)
    target = streams.readings["target"]
    np.testing.assert_allclose(streams.a.Y * target["sd"] + target["mean"], a.targets, atol=1e-9)


def test_components_that_cannot_be_aligned_are_refused():
    a, b = days()
    two = replace(
        b, inputs=b.inputs[:, :20], keys=[("other", str(i)) for i in range(18)] + b.keys[:2]
    )
    numbered = [replace(day, keys=[*range(day.inputs.shape[1])]) for day in (a, two)]
    for arguments, given, message in (
        ((a, two), {}, r"day B: 2 channels that both sessions have, fewer than the 3"),
        ((a, b), {"stable": 2}, r"day B: 2 stable channels, fewer than the 3 factors.*stable"),
        ((a, b), {"stable": 25}, r"day B: features.stable is 25 of 24 channels"),
        (
            (a, b, "pca"),
            {},
            'align is "aligned_factors", but method is "pca"; set method to factor',
        ),
        ((a, b), {"of": "shared", "columns": "same"}, 'align.*but of is "shared"'),
        ((a, b, "top_channels", "procrustes", "same"), {}, 'align is "procrustes", but method is'),
        ((a, b), {"named": False}, "no channel of day A has a name that lasts"),
        (numbered, {}, "day B has 20 columns and day A 24, so that their numbers name no channel"),
    ):
        with pytest.raises(OrlaError, match=message):
            streams_of(*arguments, **given)
