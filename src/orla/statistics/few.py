"""The bootstrap of a mean of few values, several times faster than scipy's and equal to it."""

from functools import lru_cache

import numpy as np


def percentile_interval(
    values: np.ndarray, seed: int, resamples: int, confidence: float
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean of few values, to the last bit as scipy's.

    Few values have few different resamples (27 of 3), so that one mean of each is enough.

    Args:
        values: (n,) finite values.
        seed, resamples: of the resampling.
        confidence: coverage aimed at, in (0, 1).

    Returns:
        (low, high) in the unit of the values.
    """
    different, count = _different_draws(values.size, resamples, seed)
    means = values[different].mean(axis=-1)
    order = means.argsort()
    upto = count[order].cumsum()
    share = np.array([(1 - confidence) / 2, 1 - (1 - confidence) / 2])
    # The linear interpolation of scipy.stats.quantile, in its order of operations.
    place = share * resamples + (1 - share)
    rank = np.floor(place).astype(int) - 1
    weight = place % 1
    at, after = (
        means[order][np.searchsorted(upto, np.minimum(r, resamples - 1), side="right")]
        for r in (rank, rank + 1)
    )
    low, high = (1 - weight) * at + weight * after
    return float(low), float(high)


@lru_cache(maxsize=64)
def _different_draws(n: int, resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The different resamples (different, n) that scipy draws of n values, and how often each."""
    draws = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    different, count = np.unique(draws, axis=0, return_counts=True)
    return different, count
