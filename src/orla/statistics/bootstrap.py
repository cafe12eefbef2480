"""Seeded bootstrap intervals: the same values, seed and resamples always give the same interval."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # its rooms load when they are first used: reports wait for none
from numpy.typing import ArrayLike

from orla.errors import OrlaError
from orla.statistics.resampling import draws

RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """An estimate and its bootstrap interval, in the unit of the values.

    `low` and `high` are NaN where `method` is "none": fewer than two values have no interval.
    """

    estimate: float
    low: float
    high: float
    method: Literal["percentile", "BCa", "none"]


def mean_interval(
    values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Interval:
    """Percentile bootstrap interval of a mean.

    Parameters
    ----------
    values
        (n,) one value a unit of replication. One value has no interval.
    seed
        Seed of the resampling.
    resamples
        Number of resamples.
    confidence
        Coverage aimed at, in (0, 1).

    Raises
    ------
    OrlaError
        On no value, or on a NaN or infinite one.
    """
    values = _finite(values, "mean_interval")
    if values.size < 2:
        return Interval(float(values[0]), np.nan, np.nan, "none")
    drawn = draws(values.size, resamples, seed)
    means = values[drawn.different].mean(axis=-1)[drawn.index]
    low, high = _percentiles(means, confidence)
    return Interval(float(values.mean()), low, high, "percentile")


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> Interval:
    """Spearman's rank correlation with its BCa bootstrap interval (Efron 1987).

    The Fisher-z intervals (Fieller; Bonett and Wright 2000) are poor below 25 pairs or above
    |rho| = 0.9, where this is used. A side (or a resample) that is constant orders nothing and
    has rho 0. Where BCa is not defined because leaving out any one pair changes nothing, as with
    perfectly ordered data, the percentile interval of the same resamples is given.

    Parameters
    ----------
    x, y
        (n,) paired measures, at least three pairs for an interval.
    seed, resamples, confidence
        As in `mean_interval`.

    Raises
    ------
    OrlaError
        On arrays of different lengths, on no value, or on a NaN or infinite one.
    """
    x, y = _pair(x, y, "spearman")
    estimate = float(rank_correlation(x, y))
    if x.size < 3:
        return Interval(estimate, np.nan, np.nan, "none")
    jackknife = [rank_correlation(np.delete(x, i), np.delete(y, i)) for i in range(x.size)]
    method: Literal["percentile", "BCa"] = "BCa" if np.ptp(jackknife) > 0 else "percentile"
    result = scipy.stats.bootstrap(
        (x, y),
        rank_correlation,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        confidence_level=confidence,
        method=method,
        rng=np.random.default_rng(seed),
    )
    low, high = (float(end) for end in result.confidence_interval)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = _percentiles(result.bootstrap_distribution, confidence)
        method = "percentile"
    return Interval(estimate, low, high, method)


def rank_correlation(x: ArrayLike, y: ArrayLike, axis: int = -1) -> np.ndarray:
    """Spearman's rho along an axis: Pearson's r of mid-ranks; 0 where a side is constant.

    Parameters
    ----------
    x, y
        (..., n) paired measures.
    axis
        The axis of the pairs.

    Returns
    -------
    numpy.ndarray
        (...) correlations in [-1, 1].
    """
    ranks_x = scipy.stats.rankdata(x, axis=axis)
    ranks_y = scipy.stats.rankdata(y, axis=axis)
    ranks_x = ranks_x - ranks_x.mean(axis=axis, keepdims=True)
    ranks_y = ranks_y - ranks_y.mean(axis=axis, keepdims=True)
    norm = np.sqrt((ranks_x**2).sum(axis=axis) * (ranks_y**2).sum(axis=axis))
    product = (ranks_x * ranks_y).sum(axis=axis)
    return np.clip(np.where(norm > 0, product / np.where(norm > 0, norm, 1.0), 0.0), -1.0, 1.0)


def ordering_interval(
    x: ArrayLike,
    y: ArrayLike,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> Interval:
    """Rank correlation between two group means, with a percentile bootstrap over units.

    The groups (say four optimizers) are fixed; the units (seeds) are resampled jointly for all
    groups and both measures, and both means are formed anew in each resample.

    Parameters
    ----------
    x, y
        (groups, units) two measures. NaN marks a unit that a group lacks, in both measures; a
        group's mean is over the units it has. Resamples in which a group has none are left out.
    seed, resamples, confidence
        As in `mean_interval`.

    Returns
    -------
    Interval
        Spearman's rho over groups. No interval with fewer than two units.

    Raises
    ------
    OrlaError
        On arrays of different shapes, fewer than three groups, or a group without any unit.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 2:
        raise OrlaError(
            f"ordering_interval: shapes {x.shape} and {y.shape}; give both as (groups, units)"
        )
    present = np.isfinite(x) & np.isfinite(y)
    if x.shape[0] < 3 or not present.any(axis=1).all():
        raise OrlaError("ordering_interval: needs at least three groups, each with a finite unit")
    n = x.shape[1]
    estimate = float(rank_correlation(*_group_means(x, y, present, np.ones((1, n))))[0])
    if n < 2:
        return Interval(estimate, np.nan, np.nan, "none")
    draws = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    counts = (draws[:, :, None] == np.arange(n)).sum(axis=1).astype(float)
    counts = counts[((counts @ present.T) > 0).all(axis=1)]
    low, high = _percentiles(rank_correlation(*_group_means(x, y, present, counts)), confidence)
    return Interval(estimate, low, high, "percentile")


def _group_means(
    x: np.ndarray, y: np.ndarray, present: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means of each group in each resample, (resamples, groups), from how often a unit is drawn."""
    weights = counts @ present.T
    means_x = counts @ np.where(present, x, 0.0).T / weights
    means_y = counts @ np.where(present, y, 0.0).T / weights
    return means_x, means_y


def _percentiles(distribution: np.ndarray, confidence: float) -> tuple[float, float]:
    tail = 50 * (1 - confidence)
    low, high = np.percentile(distribution, [tail, 100 - tail])
    return float(low), float(high)


def _finite(values: ArrayLike, name: str) -> np.ndarray:
    values = np.asarray(values, dtype=float).ravel()
    if values.size == 0:
        raise OrlaError(f"{name}: no values; give at least one")
    if bad := int((~np.isfinite(values)).sum()):
        raise OrlaError(
            f"{name}: {bad} of {values.size} values are not finite; "
            "leave diverged models out and report how many they were"
        )
    return values


def _pair(first: ArrayLike, second: ArrayLike, name: str) -> tuple[np.ndarray, np.ndarray]:
    first, second = _finite(first, name), _finite(second, name)
    if first.size != second.size:
        raise OrlaError(f"{name}: {first.size} and {second.size} values; pairs need equal numbers")
    return first, second
