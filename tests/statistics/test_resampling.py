"""The choice of the rate and resamples of units, against the study's rule and loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orla.statistics import resampling
from orla.study import rates


def errors(seed, seeds, width):
    """Errors (seeds, rates) with ties, NaN and infinities among them."""
    generator = np.random.default_rng(seed)
    values = generator.choice([0.1, 0.2, 0.3, 0.7, np.nan, np.inf], (seeds, width))
    if generator.uniform() < 0.5:
        values = np.where(generator.uniform(size=values.shape) < 0.1, np.nan, 0.0)
        values = values + generator.uniform(0.5, 0.6, values.shape)
    return values


def best_by_hand(values):
    means = [np.where(np.isfinite(column), column, np.inf).mean() for column in values.T.copy()]
    return means.index(min(means))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 21), st.integers(1, 7))
def test_best_rate_of_each_resample_is_the_rate_the_study_would_choose(seed, seeds, width):
    values = errors(seed, seeds, width)
    assert rates.best_rate_index(values) == best_by_hand(values)
    assert rates.lowest_error_index(dict(enumerate(values.T))) == best_by_hand(values)
    draws = np.random.default_rng(seed).integers(0, seeds, (5, seeds))
    expected = [best_by_hand(values[draw]) for draw in draws]
    assert rates.best_rate_index(values[draws]).tolist() == expected


def test_a_rate_at_which_a_seed_diverges_is_worst_and_ties_go_to_the_smallest():
    assert rates.best_rate_index(np.array([[np.nan, 9.0], [0.1, 9.0]])) == 1
    assert rates.best_rate_index(np.full((3, 4), np.nan)) == 0
    assert rates.best_rate_index(np.array([[0.5, 0.2, 0.2]])) == 1


def test_seeds_of_a_resample_at_its_rate_and_means_of_what_is_finite():
    values = np.arange(12.0).reshape(4, 3)
    draws = np.array([[0, 0, 3, 1], [2, 1, 1, 0]])
    found = resampling.values_at_rates(values, draws, np.array([2, 0]))
    assert found.tolist() == [[2, 2, 11, 5], [6, 3, 3, 0]]
    values = np.array([[1.0, np.nan, 4.0], [np.nan, np.inf, -np.inf], [2.0, 3.0, 7.0]])
    assert resampling.finite_means(values) == pytest.approx([2.5, np.nan, 4.0], nan_ok=True)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_different_resamples_stand_for_all(n):
    drawn = resampling.draw_resamples(n, 300, 7)
    given = np.random.default_rng(7).integers(0, n, (300, n))
    assert (drawn.different[drawn.index] == np.sort(given, axis=1)).all()
    seen = {tuple(row) for row in np.sort(given, axis=1)}
    assert len(drawn.different) == len(seen)
    counts = [(drawn.index == i).sum() for i in range(len(drawn.different))]
    assert drawn.different_resample_shares == pytest.approx(np.array(counts) / 300)
    other = resampling.draw_resamples(n, 300, 8)
    assert n == 1 or (len(other.index) == 300 and (other.different[other.index] != given).any())


def test_the_resampled_error_of_a_mean_is_that_of_theory():
    x = stats.norm.ppf((np.arange(12) + 0.5) / 12)
    drawn = resampling.draw_resamples(12, 10_000, 0)
    means = x[drawn.different].mean(axis=1)[drawn.index]
    error = resampling.resampled_standard_error
    assert error(means, 12) == pytest.approx(stats.sem(x), rel=0.03)
    assert np.isnan([error(means, 1), error(means[:1], 6)]).all()
    assert error(np.array([1.0, np.nan, 3.0]), 2) == pytest.approx(2.0)
    # Means that differ by rounding have no spread.
    assert error(np.array([0.3, 0.1 + 0.2, 0.3]), 3) == error(np.zeros(4), 3) == 0
