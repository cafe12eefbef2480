"""Seeded bootstrap intervals: the same values, seed and resamples always give the same interval."""

from typing import NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used: reports wait for none
from numpy.typing import ArrayLike

from orla.errors import OrlaError
from orla.statistics.means import NO_ENDS, Ends
from orla.statistics.resampling import draws

RESAMPLES = 10_000


class Interval(NamedTuple):
    """An estimate and its bootstrap interval, in the unit of the values; NaN without interval."""

    estimate: float
    low: float
    high: float


def mean_interval(
    values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> Interval:
    """Percentile bootstrap interval of a mean.

    Args:
        values: (n,) one value a unit of replication. One value has no interval.
        seed, resamples: of the resampling.
        confidence: coverage aimed at, in (0, 1).

    Raises:
        OrlaError: No value, or a NaN or infinite one.
    """
    [values] = finite("mean_interval", values)
    if values.size < 2:
        return Interval(float(values[0]), *NO_ENDS)
    drawn = draws(values.size, resamples, seed)
    means = values[drawn.different].mean(axis=-1)[drawn.index]
    return Interval(float(values.mean()), *_percentiles(means, confidence))


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

    Args:
        x, y: (n,) paired measures, at least three pairs for an interval.
        seed, resamples, confidence: as in `mean_interval`.

    Raises:
        OrlaError: Arrays of different lengths, no value, or a NaN or infinite one.
    """
    x, y = finite("spearman", x, y)
    estimate = float(rank_correlation(x, y))
    if x.size < 3:
        return Interval(estimate, *NO_ENDS)
    jackknife = [rank_correlation(np.delete(x, i), np.delete(y, i)) for i in range(x.size)]
    result = scipy.stats.bootstrap(
        (x, y),
        rank_correlation,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        confidence_level=confidence,
        method="BCa" if np.ptp(jackknife) > 0 else "percentile",
        rng=np.random.default_rng(seed),
    )
    ends = tuple(map(float, result.confidence_interval))
    if not np.isfinite(ends).all():
        ends = _percentiles(result.bootstrap_distribution, confidence)
    return Interval(estimate, *ends)


def rank_correlation(x: ArrayLike, y: ArrayLike, axis: int = -1) -> np.ndarray:
    """Spearman's rho (...) of pairs (..., n) along an axis; 0 where a side is constant."""
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

    Args:
        x, y: (groups, units) two measures. NaN marks a unit that a group lacks, in both measures; a
            group's mean is over the units it has. Resamples in which a group has none are left out.
        seed, resamples, confidence: as in `mean_interval`.

    Returns:
        Spearman's rho over groups. No interval with fewer than two units.

    Raises:
        OrlaError: Arrays of different shapes, fewer than three groups, or one without any unit.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.shape != y.shape or x.ndim != 2:
        raise OrlaError(
            f"ordering_interval: shapes {x.shape} and {y.shape}; give both as (groups, units)"
        )
    present = np.isfinite(x) & np.isfinite(y)
    if x.shape[0] < 3 or not present.any(axis=1).all():
        raise OrlaError("ordering_interval: needs at least three groups, each with a finite unit")

    def correlation(counts: np.ndarray) -> np.ndarray:
        """That of the means in resamples, from how often each holds a unit (resamples, units)."""
        weights = counts @ present.T
        return rank_correlation(*(counts @ np.where(present, m, 0.0).T / weights for m in (x, y)))

    n = x.shape[1]
    estimate = float(correlation(np.ones((1, n)))[0])
    if n < 2:
        return Interval(estimate, *NO_ENDS)
    drawn = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1).astype(float)
    counts = counts[((counts @ present.T) > 0).all(axis=1)]
    return Interval(estimate, *_percentiles(correlation(counts), confidence))


def finite(name: str, *sides: ArrayLike) -> list[np.ndarray]:
    """Arrays (n,) of equal length, each with a value and all values finite; `name` asks for them.

    Raises:
        OrlaError: Naming what is wrong.
    """
    arrays = [np.asarray(values, dtype=float).ravel() for values in sides]
    for values in arrays:
        if values.size == 0:
            raise OrlaError(f"{name}: no values; give at least one")
        if bad := int((~np.isfinite(values)).sum()):
            raise OrlaError(
                f"{name}: {bad} of {values.size} values are not finite; "
                "leave diverged models out and report how many they were"
            )
    if len({values.size for values in arrays}) > 1:
        sizes = " and ".join(str(values.size) for values in arrays)
        raise OrlaError(f"{name}: {sizes} values; pairs need equal numbers")
    return arrays


def _percentiles(distribution: np.ndarray, confidence: float) -> Ends:
    tail = 50 * (1 - confidence)
    low, high = np.percentile(distribution, [tail, 100 - tail])
    return float(low), float(high)
