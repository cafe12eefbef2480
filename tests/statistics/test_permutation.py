"""Permutation p values against scipy and enumeration."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from orla.errors import OrlaError
from orla.statistics.bootstrap import rank_correlation
from orla.statistics.permutation import spearman_p


def test_all_orders_of_few_pairs_are_tried():
    x, y = [1.0, 2, 3, 4, 5], [2.0, 1, 4, 3, 7]
    seen = stats.spearmanr(x, y).statistic
    each = [stats.spearmanr(x, order).statistic for order in permutations(y)]
    expected = np.mean([abs(rho) >= abs(seen) - 1e-9 for rho in each])
    assert spearman_p(x, y) == pytest.approx(expected, abs=1e-12)
    assert spearman_p([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(2 / 24)
    assert spearman_p([1, 2, 3, 4], [9, 7, 5, 1]) == pytest.approx(2 / 24)


def test_many_pairs_are_drawn():
    generator = np.random.default_rng(0)
    x = generator.normal(size=12)
    y = 0.5 * x + generator.normal(size=12)
    p = spearman_p(x, y, resamples=20_000)
    assert p == pytest.approx(stats.spearmanr(x, y).pvalue, abs=0.01)
    assert p == spearman_p(x, y, resamples=20_000) != spearman_p(x, y, seed=1, resamples=20_000)
    assert spearman_p(np.arange(12), np.arange(12), resamples=99) == pytest.approx(1 / 100)


def test_a_constant_side_shows_nothing():
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0
    assert spearman_p([1, 1, 1], [1, 2, 3]) == 1


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1]), ([], []), ([1, np.nan], [1, 2])])
def test_pairs_that_are_none_are_refused(x, y):
    with pytest.raises(OrlaError, match="spearman_p"):
        spearman_p(x, y)
