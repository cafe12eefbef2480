"""The choice of a learning rate, made anew in every resample of seeds."""

import numpy as np


def best_rate(errors: np.ndarray) -> np.ndarray:
    """Index of the rate with the lowest mean error over seeds, as `orla.study.rates.best` finds it.

    An error that is not finite (a diverged model) counts as infinite; of rates with equal means the
    smallest is taken.

    Args:
        errors: (..., seeds, rates) errors, rates in increasing order.

    Returns:
        (...) indices of rates.
    """
    by_rate = np.swapaxes(np.where(np.isfinite(errors), errors, np.inf), -1, -2)
    # The mean over a contiguous last axis rounds as that of one array of seeds does.
    return np.ascontiguousarray(by_rate).mean(axis=-1).argmin(axis=-1)


def at_rates(values: np.ndarray, draws: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Values (seeds, rates) of each resample's seeds at the rate it chose, (resamples, seeds)."""
    return values[draws, rate[:, None]]


def finite_means(values: np.ndarray) -> np.ndarray:
    """Means of the finite values along the last axis; NaN where there is none."""
    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    total = np.where(finite, values, 0.0).sum(axis=-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
