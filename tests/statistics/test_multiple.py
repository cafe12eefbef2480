"""Holm's correction against a loop, and permutation p values against scipy and enumeration."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from orla.errors import OrlaError
from orla.statistics.bootstrap import rank_correlation
from orla.statistics.multiple import holm
from orla.statistics.permutation import spearman_p


def holm_by_hand(p):
    """Step down: multiply the smallest by n, the next by n - 1, and never let them fall."""
    adjusted, largest = [None] * len(p), 0.0
    for rank, at in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[at]))
        adjusted[at] = largest
    return adjusted


@pytest.mark.parametrize(
    "p", [[0.01, 0.04, 0.03], [0.2], [0.5, 0.5, 0.001, 0.02], [1.0, 0.0], [0.3, 0.9, 0.8, 0.04]]
)
def test_holm(p):
    assert holm(p) == pytest.approx(holm_by_hand(p), abs=1e-15)
    assert (holm(p) >= p).all()


def test_holm_of_the_textbook():
    # R: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])


def test_no_p_values_and_bad_ones():
    assert holm([]).size == 0
    for bad in ([0.2, np.nan], [-0.1], [1.2]):
        with pytest.raises(OrlaError, match=r"outside \[0, 1\]"):
            holm(bad)


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
