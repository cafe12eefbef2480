"""Permutation p value of a rank correlation."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from orla.statistics.bootstrap import RESAMPLES, finite, rank_correlation

EXACT_UP_TO = 8
"""Pairs up to which every order is tried (40,320 at 8)."""


def spearman_p(x: ArrayLike, y: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Two-sided permutation p of Spearman's rank correlation.

    The share of orders of `y` whose correlation with `x` is at least as far from 0 as that seen.
    All orders are tried for up to `EXACT_UP_TO` pairs; beyond that `resamples` random ones are, and
    the order seen counts as one of them (Phipson and Smyth 2010), so that p is never 0.

    Args:
        x, y: (n,) paired measures. A constant side has correlation 0, hence p = 1.
        seed, resamples: of the random orders.

    Raises:
        OrlaError: Arrays of different lengths, without a value, or with one that is not finite.
    """
    x, y = finite("spearman_p", x, y)
    if exact := x.size <= EXACT_UP_TO:
        orders = np.array(list(permutations(range(y.size))))
    else:
        base = np.tile(np.arange(y.size), (resamples, 1))
        orders = np.random.default_rng(seed).permuted(base, axis=1)
    seen = abs(float(rank_correlation(x, y)))
    drawn = np.abs(rank_correlation(np.broadcast_to(x, orders.shape), y[orders]))
    # Correlations that are equal but for rounding count as equal.
    extreme = int((drawn >= seen - 1e-12).sum())
    return (extreme + (not exact)) / (len(orders) + (not exact))
