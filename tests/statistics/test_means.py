"""Moments, t intervals and TOST against scipy, published values, statsmodels and past bugs."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from orla.statistics.means import (
    moments,
    p_above,
    prediction_interval,
    t_interval,
    t_quantile,
    tost,
)

# The clinic data of statsmodels' test_tost.py; expected numbers from R's package `equivalence`.
VAR1 = (
    [2.84, 2.51, 2.41, 2.95, 3.14, 3.79, 4.14, 3.85, 3.02, 3.45, 5.37, 3.81, 4.19, 3.16, 3.84],
    [2.60, 2.82, 2.18, 3.46, 4.01, 3.04, 3.47, 4.06, 2.91, 3.59, 4.51, 3.16, 3.86, 3.31, 3.02],
)


def of_pairs(first, second):
    known = moments(np.subtract(first, second))
    return known.mean, known.standard_error, known.dof


SD = np.sqrt(1.17**2 + 1.29**2 - 2 * 0.75 * 1.17 * 1.29)
PAIRS = (5.83 - 5.75, SD / np.sqrt(65), 64)
WELCH = (5.25 - 5.22, np.sqrt(0.95**2 / 95 + 0.83**2 / 89), 181.13436716050748)

# Mean, standard error and degrees of freedom; margin; alpha; and what is published, to its last
# digit: p of the lower and the upper margin, of both, the ends of the interval; None for no number.
PUBLISHED = {
    "equivalence": (
        *(of_pairs(*VAR1), 0.6, 0.05, "0.00003088", "0.003166881489265175"),
        *("0.003166881489265175", "-0.0744336620516462", "0.4037669953849797"),
    ),
    "equivalence, ratio on logarithms": (
        *(of_pairs(*np.log(VAR1)), np.log(1.25), 0.05, None, None),
        *("0.0001664157928976468", "-0.02415225319362176", "0.1103969168386687"),
    ),
    "TOSTER, alpha 0.025": (PAIRS, 0.4 * SD, 0.025, None, None, None, "-0.1372988", "0.2972988"),
    "TOSTER, Welch": (
        *(WELCH, 0.384, 0.05, "0.0009458745", "0.003838994"),
        *(None, "-0.1870843", "0.2470843"),
    ),
    "raw margins, never scaled by the standard deviation": (
        *((2.0, 2 / np.sqrt(10), 9), 3.0, 0.05, "0.000012", "0.0741524"),
        *(None, "0.840638", "3.159362"),
    ),
}


def both_p(mean, error, dof, margin):
    return p_above(mean + margin, error, dof), p_above(margin - mean, error, dof)


@pytest.mark.parametrize("known", PUBLISHED.values(), ids=PUBLISHED)
def test_tost_is_that_of_published_examples(known):
    estimate, margin, alpha, *texts = known
    test = tost(*estimate, margin, alpha)
    values = *both_p(*estimate, margin), test.p, *test.interval
    for value, text in zip(values, texts, strict=True):
        if text is not None:
            last = max(10.0 ** Decimal(text).as_tuple().exponent, 1e-12)
            assert value == pytest.approx(float(text), rel=0, abs=last)
    assert test.equivalent == (test.p < alpha)
    assert test.delta_star == max(map(abs, test.interval))


def of(values, margin, alpha=0.05):
    known = moments(values)
    return tost(known.mean, known.standard_error, known.dof, margin, alpha)


@pytest.mark.parametrize(
    ("value", "p_lower", "p_upper"), [(1.1, 0, 0), (3.0, 0, 1), (-3.0, 1, 0), (7.3, 0, 1)]
)
def test_zero_variance_is_a_comparison_of_numbers(value, p_lower, p_upper):
    assert both_p(value, 0.0, 6, 3) == (p_lower, p_upper)
    test = of([value] * 7, 3)
    assert test == (max(p_lower, p_upper), (value, value), abs(value), p_lower == p_upper == 0)


def test_p_equal_to_alpha_shows_nothing_and_p_is_1_without_a_standard_error():
    values = [0.0, 1.0, 2.0]
    p = of(values, 3).p
    assert not of(values, 3, p).equivalent and of(values, 3, np.nextafter(p, 1)).equivalent
    assert p_above(9.0, np.inf, 4) == p_above(9.0, np.nan, 4) == 1.0


samples = st.lists(st.floats(-20, 20), min_size=2, max_size=25)
alphas = st.sampled_from([0.01, 0.025, 0.05, 0.1])


@settings(max_examples=30, derandomize=True, deadline=None)
@given(samples, st.floats(0.1, 15), alphas)
def test_passing_is_the_central_interval_strictly_within_the_margin(values, margin, alpha):
    test = of(values, margin, alpha)
    (low, high), star = test.interval, test.delta_star
    if min(abs(low + margin), abs(high - margin)) > 1e-9:
        assert test.equivalent == (-margin < low and high < margin)
    if star > 1e-6:  # the smallest margin that passes
        assert of(values, star * 1.0001, alpha).equivalent
        assert not of(values, star * 0.9999, alpha).equivalent
    if np.ptp(values) > 1e-3:
        p, *_ = ttost_paired(np.array(values), np.zeros(len(values)), -margin, margin)
        assert test.p == pytest.approx(p, abs=1e-12)


X = np.array([3.1, 4.7, 2.2, 8.9, 5.0])


def test_moments_and_interval_are_scipys():
    found = moments(X)
    assert moments([*X, np.nan, np.inf, -np.inf]) == found  # what is not finite is left out
    assert (found.n, found.dof, found.mean) == (5, 4, X.mean())
    assert found.sd == pytest.approx(stats.tstd(X), rel=1e-14)
    assert found.standard_error == pytest.approx(stats.sem(X), rel=1e-14)
    for confidence in (0.9, 0.95, 0.99):
        expected = stats.t.interval(confidence, 4, X.mean(), stats.sem(X))
        assert found.interval(confidence) == pytest.approx(expected, rel=1e-12)
    assert found.interval() == found.interval(0.95)


@pytest.mark.parametrize(("values", "mean"), [([], np.nan), ([np.nan], np.nan), ([4.0], 4.0)])
def test_fewer_than_two_values_have_no_scatter(values, mean):
    found = moments(values)
    assert np.isnan([found.sd, found.standard_error, *found.interval()]).all()
    assert found.mean == pytest.approx(mean, nan_ok=True) and found.dof == 0


def test_equal_values_have_an_interval_of_no_width():
    # The sum of three 0.1 is not 0.3, and their standard deviation by the formula is not 0.
    assert np.full(3, 0.1).std() > 0
    found = moments([0.1] * 3)
    assert (found.mean, found.sd, found.interval()) == (0.1, 0.0, (0.1, 0.1))


@pytest.mark.parametrize("bad", [{"dof": 0}, {"mean": np.nan}, {"standard_error": np.inf}])
def test_no_interval_without_its_parts(bad):
    assert np.isnan(t_interval(**({"mean": 1.0, "standard_error": 2.0, "dof": 3} | bad))).all()


@pytest.mark.parametrize("dof", [1, 2.5, 40])
def test_quantiles_are_scipys_also_at_fractional_degrees(dof):
    assert t_quantile(0.975, dof) == pytest.approx(stats.t.ppf(0.975, dof), rel=1e-10)


def test_a_prediction_interval_holds_the_next_value():
    low, high = prediction_interval(X.mean(), X.std(ddof=1), 5)
    half = stats.t.ppf(0.975, 4) * X.std(ddof=1) * np.sqrt(1.2)
    assert (low, high) == pytest.approx((X.mean() - half, X.mean() + half), rel=1e-12)
    drawn = np.random.default_rng(0).normal(7, 3, (1000, 6))
    ends = [prediction_interval(d.mean(), d.std(ddof=1), 5) for d in drawn[:, :5]]
    inside = [low < value < high for (low, high), value in zip(ends, drawn[:, 5], strict=True)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)
    assert np.isnan(prediction_interval(1.0, np.nan, 1)).all()
    assert np.isnan(prediction_interval(np.nan, np.nan, 0)).all()
