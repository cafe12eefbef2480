"""Seeded resamples of units, intervals from them, and the choice of a rate made anew in each.

A resample holds as many units as the sample, drawn with replacement. Few seeds have few different
resamples (10 of 3 seeds, 126 of 5), so a statistic is computed for each different one, once.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from orla.statistics.means import Ends

RESAMPLES = 10_000


@dataclass(frozen=True)
class Draws:
    """Resamples: the different ones (different, n), in increasing order of units, and which of
    them each resample is, `index` (resamples,)."""

    different: np.ndarray
    index: np.ndarray

    @cached_property
    def different_resample_shares(self) -> np.ndarray:
        """(different,) the share of all resamples that equal each different one."""
        return np.bincount(self.index) / len(self.index)


@lru_cache(maxsize=64)
def draw_resamples(n: int, resamples: int, seed: int) -> Draws:
    """Resamples of n units: ``default_rng(seed).integers(0, n, (resamples, n))``."""
    units = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    different, index = np.unique(np.sort(units, axis=1), axis=0, return_inverse=True)
    return Draws(different, index.reshape(-1))


def central_percentiles(distribution: np.ndarray) -> Ends:
    """Ends of the central 95 % of a distribution."""
    low, high = np.percentile(distribution, [2.5, 97.5])
    return float(low), float(high)


def resampled_standard_error(distribution: np.ndarray, n: int) -> float:
    """Standard error from resampled means of n units: their sd times sqrt(n / (n - 1)).

    The factor is the one that turns a standard deviation with divisor n into that with n - 1.
    NaN with fewer than two units or finite resamples; 0 where the means differ by rounding alone.
    """
    finite = distribution[np.isfinite(distribution)]
    if n < 2 or finite.size < 2:
        return np.nan
    if np.ptp(finite) <= 1e-12 * np.abs(finite).max():
        return 0.0
    return float(finite.std(ddof=1) * np.sqrt(n / (n - 1)))


def values_at_rates(values: np.ndarray, draws: np.ndarray, rate_indices: np.ndarray) -> np.ndarray:
    """Values (seeds, rates) of each resample's seeds at the rate it chose, (resamples, seeds)."""
    return values[draws, rate_indices[:, None]]


def finite_means(values: np.ndarray) -> np.ndarray:
    """Means of the finite values along the last axis; NaN where there is none."""
    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    total = np.where(finite, values, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
