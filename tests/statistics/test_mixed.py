"""The mixed model against the closed form of a balanced design and statsmodels' MixedLM."""

import warnings

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from orla.statistics.mixed import random_intercept


def data(counts, between, drawn=0):
    generator = np.random.default_rng(drawn)
    groups = np.repeat(np.arange(len(counts)), counts)
    return 5 + between * generator.normal(size=len(counts))[groups] + generator.normal(
        size=len(groups)
    ), groups


@pytest.mark.parametrize("between", [1.0, 30.0])
def test_a_balanced_design_has_a_closed_form(between):
    values, groups = data([3] * 12, between)
    table = values.reshape(12, 3)
    within = table.var(axis=1, ddof=1).mean()
    of_means = table.mean(axis=1).var(ddof=1)
    fit = random_intercept(values, groups)
    assert fit.mean == pytest.approx(values.mean(), rel=1e-9)
    assert fit.residual_sd == pytest.approx(np.sqrt(within), rel=1e-5)
    assert fit.group_sd == pytest.approx(np.sqrt(of_means - within / 3), rel=1e-5)
    expected = stats.t.interval(0.95, 11, values.mean(), np.sqrt(of_means / 12))
    assert (fit.low, fit.high) == pytest.approx(expected, rel=1e-5)


def test_no_variance_between_groups_pools_all_values():
    # Within a group values are far apart, and all means are the same.
    values = np.tile([-2.0, 0.0, 2.0], 5) + np.repeat(np.linspace(-0.1, 0.1, 5), 3)
    fit = random_intercept(values, np.repeat(list("abcde"), 3))
    assert fit.group_sd == 0
    assert fit.residual_sd == pytest.approx(values.std(ddof=1))
    expected = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert (fit.low, fit.high) == pytest.approx(expected)


@pytest.mark.parametrize("between", [0.7, 40.0])
@pytest.mark.parametrize("counts", [[1, 5, 2, 7, 3, 3], [2, 4]])
def test_it_is_statsmodels_fit_where_that_converges(counts, between):
    values, groups = data(counts, between, drawn=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM(values, np.ones(values.size), groups).fit(reml=True)
    assert theirs.converged and theirs.cov_re[0, 0] > 0.01
    fit = random_intercept(values, groups)
    assert fit.mean == pytest.approx(theirs.fe_params[0], rel=1e-4)
    assert fit.residual_sd == pytest.approx(np.sqrt(theirs.scale), rel=2e-3)
    assert fit.group_sd == pytest.approx(np.sqrt(theirs.cov_re[0, 0]), rel=2e-3, abs=2e-3)
    # Generalised least squares at their variances; `bse_fe` also has the variances' uncertainty.
    same = groups[:, None] == groups
    covariance = theirs.cov_re[0, 0] * same + theirs.scale * np.eye(len(groups))
    error = np.linalg.inv(covariance).sum() ** -0.5
    assert error == pytest.approx(theirs.bse_fe[0], rel=0.03)
    half = stats.t.ppf(0.975, len(counts) - 1) * error
    assert (fit.high - fit.low) / 2 == pytest.approx(half, rel=2e-3)


def test_order_unit_origin_and_what_is_not_finite_do_not_matter():
    values, groups = data([2, 5, 3, 4], 2.0)
    fit, order = random_intercept(values, groups), np.random.default_rng(1).permutation(14)
    assert random_intercept(values[order], groups[order]).high == pytest.approx(fit.high, rel=1e-6)
    assert random_intercept(np.append(values, np.nan), np.append(groups, 9)) == fit
    other = random_intercept(1000 * values - 7, groups)
    assert other.low == pytest.approx(1000 * fit.low - 7, rel=1e-5)
    assert other.group_sd == pytest.approx(1000 * fit.group_sd, rel=1e-4)


@pytest.mark.parametrize("groups", [[0, 0, 0, 0], [0, 1, 2, 3], []])
def test_one_group_or_one_value_a_group_cannot_tell(groups):
    fit = random_intercept(np.arange(float(len(groups))), groups)
    assert np.isnan([fit.mean, fit.low, fit.high, fit.group_sd, fit.residual_sd]).all()


def test_equal_values_have_a_stated_answer():
    fit = random_intercept([2.5] * 6, [0, 0, 1, 1, 2, 2])
    assert (fit.mean, fit.low, fit.high, fit.group_sd, fit.residual_sd) == (2.5, 2.5, 2.5, 0, 0)
    fit = random_intercept([1.0, 1, 2, 2, 6, 6], [0, 0, 1, 1, 2, 2])
    assert (fit.mean, fit.residual_sd) == (3.0, 0.0)
    assert fit.group_sd == pytest.approx(np.std([1, 2, 6], ddof=1))
