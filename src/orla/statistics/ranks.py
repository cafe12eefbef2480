"""Rank correlations with seeded bootstrap intervals and permutation p values."""

from itertools import permutations
from typing import NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used
from numpy.typing import ArrayLike

from orla.statistics.resampling import RESAMPLES, central_percentiles, draw_resamples, finite_means

EXACT_UP_TO = 8
"""Pairs up to which every order is tried (40,320 at 8)."""


class Interval(NamedTuple):
    """An estimate and its 95 % interval; NaN without interval."""

    estimate: float
    low: float = np.nan
    high: float = np.nan


def rank_correlation(x: ArrayLike, y: ArrayLike, axis: int = -1) -> np.ndarray:
    """Spearman's rho (...) of pairs (..., n) along an axis.

    It is 0 where a side is constant, NaN where a value is not finite.
    """
    sides = (np.where(np.isfinite(side), side, np.nan) for side in (x, y))
    ranks_x, ranks_y = (scipy.stats.rankdata(side, axis=axis) for side in sides)
    ranks_x = ranks_x - ranks_x.mean(axis=axis, keepdims=True)
    ranks_y = ranks_y - ranks_y.mean(axis=axis, keepdims=True)
    norm = np.sqrt((ranks_x**2).sum(axis=axis) * (ranks_y**2).sum(axis=axis))
    product = (ranks_x * ranks_y).sum(axis=axis)
    return np.clip(product / np.where(norm == 0, 1.0, norm), -1.0, 1.0)


def spearman(x: np.ndarray, y: np.ndarray) -> Interval:
    """Spearman's rank correlation of pairs (n,) with its BCa bootstrap interval (Efron 1987).

    The Fisher-z intervals (Fieller; Bonett and Wright 2000) are poor below 25 pairs or above
    |rho| = 0.9, where this is used. Fewer than three pairs have no interval. Where BCa is not
    defined because leaving out any one pair changes nothing, as with perfectly ordered data, the
    percentile interval of the same resamples is given.
    """
    estimate = float(rank_correlation(x, y))
    if len(x) < 3:
        return Interval(estimate)
    jackknife = [rank_correlation(np.delete(x, i), np.delete(y, i)) for i in range(len(x))]
    result = scipy.stats.bootstrap(
        (x, y),
        rank_correlation,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        method="BCa" if np.ptp(jackknife) > 0 else "percentile",
        rng=np.random.default_rng(0),
    )
    ends = tuple(map(float, result.confidence_interval))
    if not np.isfinite(ends).all():
        ends = central_percentiles(result.bootstrap_distribution)
    return Interval(estimate, *ends)


def group_mean_rank_correlation(
    x: ArrayLike, y: ArrayLike, *, seed: int, resamples: int
) -> Interval:
    """Rank correlation between two group means, with a percentile bootstrap over units.

    The groups (say four optimizers) are fixed; the units (seeds) are resampled jointly for all
    groups and both measures, and both means are formed anew in each resample. With fewer than two
    units there is no interval.

    Args:
        x, y: (groups, units) two measures; NaN in either marks a unit that a group lacks. A mean is
            over the units that a group has; resamples in which one has none are left out.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    sides = np.where(np.isfinite(x) & np.isfinite(y), [x, y], np.nan)
    estimate = float(rank_correlation(*finite_means(sides)))
    n = x.shape[1]
    if n < 2:
        return Interval(estimate)
    draws = draw_resamples(n, resamples, seed)
    means = finite_means(sides[:, :, draws.different])  # (2, groups, different)
    rho = rank_correlation(*means, axis=0)[draws.index]
    return Interval(estimate, *central_percentiles(rho[np.isfinite(rho)]))


def spearman_p(
    x: np.ndarray, y: np.ndarray, *, seed: int = 0, n_permutations: int = RESAMPLES
) -> float:
    """Two-sided permutation p of Spearman's rank correlation of pairs (n,).

    The share of orders of `y` whose correlation with `x` is at least as far from 0 as that seen.
    All orders are tried for up to `EXACT_UP_TO` pairs; beyond that `n_permutations` random ones
    are, and the order seen counts as one of them (Phipson and Smyth 2010), so that p is never 0.
    """
    if exact := len(x) <= EXACT_UP_TO:
        orders = np.array(list(permutations(range(len(y)))))
    else:
        base = np.tile(np.arange(len(y)), (n_permutations, 1))
        orders = np.random.default_rng(seed).permuted(base, axis=1)
    rho = abs(float(rank_correlation(x, y)))
    rhos = np.abs(rank_correlation(np.broadcast_to(x, orders.shape), y[orders]))
    # Correlations that are equal but for rounding count as equal.
    extreme = int((rhos >= rho - 1e-12).sum())
    return (extreme + (not exact)) / (len(orders) + (not exact))
