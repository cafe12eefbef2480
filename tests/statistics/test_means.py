"""t intervals, prediction intervals and moments against scipy and a simulation."""

import numpy as np
import pytest
from scipy import stats

from orla.statistics.means import moments, prediction_interval, t_interval, t_quantile

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


def test_quantiles_are_scipys_also_at_fractional_degrees():
    for dof in (1, 2.5, 40):
        assert t_quantile(0.975, dof) == pytest.approx(stats.t.ppf(0.975, dof), rel=1e-10)


def test_a_prediction_interval_holds_the_next_value():
    low, high = prediction_interval(X.mean(), X.std(ddof=1), 5)
    half = stats.t.ppf(0.975, 4) * X.std(ddof=1) * np.sqrt(1.2)
    assert (low, high) == pytest.approx((X.mean() - half, X.mean() + half), rel=1e-12)
    drawn = np.random.default_rng(0).normal(7, 3, (2000, 6))
    ends = [prediction_interval(d.mean(), d.std(ddof=1), 5) for d in drawn[:, :5]]
    inside = [low < value < high for (low, high), value in zip(ends, drawn[:, 5], strict=True)]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)
    assert np.isnan(prediction_interval(1.0, np.nan, 1)).all()
    assert np.isnan(prediction_interval(np.nan, np.nan, 0)).all()
