"""Bootstrap intervals against scipy's and R's published values and exhaustive enumeration."""

import numpy as np
import pytest
from scipy import stats

from orla.errors import OrlaError
from orla.statistics.bootstrap import (
    mean_interval,
    ordering_interval,
    rank_correlation,
    spearman,
)

# scipy's test_resampling.py, checked there against R's `boot`.
X = [10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213]
# R's statpsych::ci.spear.
SPEAR_Y = [21, 4, 9, 12, 35, 18, 10, 22, 24, 1, 6, 8, 13, 16, 19]
SPEAR_X = [67, 28, 30, 28, 52, 40, 25, 37, 44, 10, 14, 20, 28, 40, 51]


def test_percentile_interval_of_the_mean_matches_r():
    interval = mean_interval(X, resamples=200_000, seed=1)
    assert interval.estimate == np.mean(X)
    assert (interval.low, interval.high) == pytest.approx((28.86, 84.21), rel=0.005)
    # The two other kinds of interval for the same data lie well outside that tolerance.
    assert (interval.low, interval.high) != pytest.approx((23.77, 79.12), rel=0.03)
    assert (interval.low, interval.high) != pytest.approx((32.31, 91.43), rel=0.03)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 20])
def test_the_interval_of_a_mean_is_scipys(n):
    generator = np.random.default_rng(n)
    for trial in range(40):
        values = generator.normal(40, 5, n) if trial % 4 else np.round(generator.normal(0, 1, n))
        resamples, seed = int(generator.integers(1, 4000)), int(generator.integers(9))
        confidence = (0.95, 0.9, 0.5)[trial % 3]
        expected = stats.bootstrap(
            (values,), np.mean, n_resamples=resamples, confidence_level=confidence,
            method="percentile", rng=np.random.default_rng(seed),
        ).confidence_interval  # fmt: skip
        found = mean_interval(values, seed=seed, resamples=resamples, confidence=confidence)
        assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-12, abs=1e-14)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    assert mean_interval(X, seed=3) == mean_interval(X, seed=3)
    assert mean_interval(X, seed=3) != mean_interval(X, seed=4)


def test_constant_values_have_an_interval_of_no_width_and_one_value_none():
    assert mean_interval([2.5] * 6) == (2.5, 2.5, 2.5)
    assert mean_interval([4.0]).estimate == 4.0 and np.isnan(mean_interval([4.0])[1:]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_interval([]), "at least one"),
        (lambda: mean_interval([1.0, np.nan]), "1 of 2 values are not finite"),
        (lambda: spearman([1, 2], [1]), "2 and 1 values"),
        (lambda: spearman([1, 2, 3], [1, 2, np.inf]), "not finite"),
        (lambda: ordering_interval(np.ones((2, 3)), np.ones((2, 3))), "three groups"),
        (lambda: ordering_interval(np.ones((3, 3)), np.ones((3, 2))), "shapes"),
    ],
)
def test_bad_input_is_one_clear_line(call, words):
    with pytest.raises(OrlaError, match=words):
        call()


def test_spearman_rho_and_bca_interval():
    interval = spearman(SPEAR_X, SPEAR_Y)
    assert interval.estimate == pytest.approx(0.8699639, abs=1e-7)
    reference = stats.bootstrap(
        (SPEAR_X, SPEAR_Y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="BCa",
        rng=np.random.default_rng(7),
    ).confidence_interval
    assert (interval.low, interval.high) == pytest.approx(tuple(reference), abs=0.03)
    assert -1 <= interval.low < interval.estimate < interval.high <= 1


def test_rank_correlation_agrees_with_scipy_with_ties():
    generator = np.random.default_rng(2)
    x, y = generator.integers(0, 5, (2, 50, 9)).astype(float)
    expected = [stats.spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert rank_correlation(x, y) == pytest.approx(np.nan_to_num(expected), abs=1e-12)


def test_a_constant_side_orders_nothing():
    interval = spearman([1.0] * 6, [1, 2, 3, 4, 5, 6])
    assert (interval.estimate, interval.low, interval.high) == (0.0, 0.0, 0.0)


def test_three_pairs_have_an_interval_and_two_have_none():
    assert np.isfinite(spearman([1, 2, 3], [1, 3, 2])).all()
    assert np.isnan(spearman([1, 2], [2, 1])[1:]).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_perfect_order_has_a_finite_interval(sign):
    interval = spearman(np.arange(8), sign * np.arange(8) ** 3)
    assert interval.estimate == pytest.approx(sign)
    assert np.isfinite([interval.low, interval.high]).all()


def ordering_by_loops(x, y, resamples, seed, ends=(2.5, 97.5)):
    """Resample units one resample at a time: slow, and independent of the vectorised form."""
    draws = np.random.default_rng(seed).integers(0, x.shape[1], size=(resamples, x.shape[1]))
    rhos = []
    for draw in draws:
        a, b = x[:, draw], y[:, draw]
        if np.isnan(a).all(axis=1).any():
            continue
        rhos.append(stats.spearmanr(np.nanmean(a, axis=1), np.nanmean(b, axis=1)).statistic)
    return np.percentile(rhos, ends)


@pytest.mark.parametrize("holes", [[], [(0, 1)], [(1, 0), (1, 1), (3, 4)]])
def test_ordering_interval_matches_plain_loops(holes):
    generator = np.random.default_rng(4)
    x = np.array([4.3, 4.8, 6.2, 10.5])[:, None] + generator.normal(0, 0.8, (4, 5))
    y = np.array([-10, -7, 0, 20])[:, None] + generator.normal(0, 6, (4, 5))
    for hole in holes:
        x[hole] = y[hole] = np.nan
    interval = ordering_interval(x, y, resamples=400, seed=6)
    expected = ordering_by_loops(x, y, 400, 6)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)
    mean_x, mean_y = np.nanmean(x, axis=1), np.nanmean(y, axis=1)
    assert interval.estimate == pytest.approx(stats.spearmanr(mean_x, mean_y).statistic)


@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_ordering_of_many_groups_matches_plain_loops(confidence):
    """Fifteen groups have many rank correlations, so that any other draw gives other ends."""
    generator = np.random.default_rng(5)
    x, y = generator.normal(0, 1, (2, 15, 4)) + np.linspace(0, 1, 15)[:, None]
    for side in (x, y):
        side[0, 1:] = side[1, :3] = side[2, 0] = np.nan
    interval = ordering_interval(x, y, resamples=40, seed=6, confidence=confidence)
    tail = 50 * (1 - confidence)
    expected = ordering_by_loops(x, y, 40, 6, [tail, 100 - tail])
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)


def test_ordering_draws_seeds_jointly():
    # A unit effect shared by all groups moves every mean alike and cannot change their order.
    shared = np.random.default_rng(1).normal(0, 100, 6)
    x = np.arange(4.0)[:, None] + np.zeros(6)
    y = np.arange(4.0)[:, None] + shared
    interval = ordering_interval(x, y)
    assert (interval.low, interval.high) == (1.0, 1.0)
    # Unshared noise of the same size does break the order.
    noise = np.random.default_rng(1).normal(0, 100, (4, 6))
    assert ordering_interval(x, np.arange(4.0)[:, None] + noise).low < 0


def test_ordering_of_one_unit_has_no_interval():
    interval = ordering_interval([[1.0], [2.0], [3.0]], [[3.0], [2.0], [1.0]])
    assert interval.estimate == -1.0 and np.isnan(interval.low)
