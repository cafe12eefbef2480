"""Rank correlations against scipy, R's published values, enumeration and plain loops."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from orla.statistics.ranks import (
    group_mean_rank_correlation,
    rank_correlation,
    spearman,
    spearman_p,
)

# R's statpsych::ci.spear.
SPEAR_Y = np.array([21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19])
SPEAR_X = np.array([67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51])


def test_rank_correlation_agrees_with_scipy_with_ties():
    x, y = np.random.default_rng(2).integers(0, 5, (2, 20, 9)).astype(float)
    expected = [stats.spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert rank_correlation(x, y) == pytest.approx(np.nan_to_num(expected), abs=1e-12)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0
    assert np.isnan(rank_correlation([1, np.inf, 2], [1, 2, 3]))


def test_spearman_rho_and_bca_interval():
    interval = spearman(SPEAR_X, SPEAR_Y)
    assert interval.estimate == pytest.approx(0.8699639, abs=1e-7)

    def rho(x, y, axis):
        ranks = (stats.rankdata(side, axis=axis) for side in (x, y))
        return stats.pearsonr(*ranks, axis=axis).statistic

    reference = stats.bootstrap(
        (SPEAR_X, SPEAR_Y), rho, paired=True, vectorized=True, n_resamples=4000, method="BCa",
        rng=np.random.default_rng(7),
    ).confidence_interval  # fmt: skip
    assert interval[1:] == pytest.approx(tuple(reference), abs=0.03)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([1.0] * 6, [1, 2, 3, 4, 5, 6], (0, 0, 0)),  # a constant side orders nothing
        (range(8), [-(i**3) for i in range(8)], (-1, -1, -1)),  # where BCa is not defined
        ([1, 2, 3], [1, 3, 2], (0.5, -1, 1)),  # the fewest that have an interval
        ([1, 2], [2, 1], (-1, np.nan, np.nan)),
    ],
)
def test_spearman_at_its_limits(x, y, expected):
    assert spearman(np.array(x), np.array(y)) == pytest.approx(expected, nan_ok=True)


def ordering_by_loops(x, y, resamples, seed):
    """Resample units one resample at a time: slow, and independent of the vectorised form."""
    rhos = []
    for draw in np.random.default_rng(seed).integers(0, x.shape[1], (resamples, x.shape[1])):
        a, b = x[:, draw], y[:, draw]
        if not np.isnan(a).all(axis=1).any():
            rhos.append(stats.spearmanr(np.nanmean(a, axis=1), np.nanmean(b, axis=1)).statistic)
    return np.percentile(rhos, (2.5, 97.5))


@pytest.mark.parametrize(
    ("groups", "holes"),
    [
        (4, []),
        (4, [(1, 0), (1, 1), (3, 4)]),
        # Many groups have many rank correlations, so that any other draw gives other ends.
        (15, [(0, slice(1, None)), (1, slice(3)), (2, 0)]),
    ],
)
def test_group_mean_rank_correlation_matches_plain_loops(groups, holes):
    x, y = np.random.default_rng(4).normal(0, 1, (2, groups, 5)) + np.arange(groups)[:, None] / 4
    for hole in holes:
        x[hole] = y[hole] = np.nan
    interval = group_mean_rank_correlation(x, y, resamples=100, seed=6)
    assert interval[1:] == pytest.approx(ordering_by_loops(x, y, 100, 6), abs=1e-9)
    means = np.nanmean(x, axis=1), np.nanmean(y, axis=1)
    assert interval.estimate == pytest.approx(stats.spearmanr(*means).statistic)


def test_ordering_draws_seeds_jointly_and_one_has_no_interval():
    # A unit effect shared by all groups moves every mean alike and cannot change their order.
    x, how = np.arange(4.0)[:, None] + np.zeros(6), {"seed": 0, "resamples": 300}
    noise = np.random.default_rng(1).normal(0, 100, (4, 6))
    assert group_mean_rank_correlation(x, x + noise[0], **how) == (1.0, 1.0, 1.0)
    # Unshared noise of the same size does break the order.
    assert group_mean_rank_correlation(x, x + noise, **how).low < 0
    single = group_mean_rank_correlation([[1.0], [2.0], [3.0]], [[3.0], [2.0], [1.0]], **how)
    assert single == pytest.approx((-1.0, np.nan, np.nan), nan_ok=True)


def test_all_orders_of_few_pairs_are_tried():
    x, y = np.arange(1.0, 6), np.array([2.0, 1, 4, 3, 7])
    seen = stats.spearmanr(x, y).statistic
    each = [stats.spearmanr(x, order).statistic for order in permutations(y)]
    expected = np.mean([abs(rho) >= abs(seen) - 1e-9 for rho in each])
    assert spearman_p(x, y) == pytest.approx(expected, abs=1e-12)
    for sign in (1, -1):
        assert spearman_p(x[:4], sign * x[:4] ** 3) == pytest.approx(2 / 24)
    assert spearman_p(np.ones(3), x[:3]) == 1  # a constant side shows nothing


def test_spearman_p_of_many_points_samples_permutations_and_agrees_with_scipy():
    x, noise = np.random.default_rng(0).normal(size=(2, 12))
    y = 0.5 * x + noise
    p = spearman_p(x, y, n_permutations=5000)
    assert p == pytest.approx(stats.spearmanr(x, y).pvalue, abs=0.02)
    assert (
        p == spearman_p(x, y, n_permutations=5000) != spearman_p(x, y, seed=1, n_permutations=5000)
    )
    assert spearman_p(x, x, n_permutations=99) == pytest.approx(1 / 100)
