"""A linear mixed model with one random intercept: the mean over pairs that have several seeds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from orla.statistics.means import moments, t_interval

_GRID = np.linspace(0, 1, 200, endpoint=False)


@dataclass(frozen=True)
class MixedFit:
    """The fixed intercept with its 95 % t interval (groups - 1 degrees of freedom), and standard
    deviations of the random intercepts and of values within a group; in the unit of the values."""

    mean: float
    low: float
    high: float
    group_sd: float
    residual_sd: float


def random_intercept(values: ArrayLike, groups: ArrayLike) -> MixedFit:
    """Fit value = mean + intercept of the group + residual by restricted maximum likelihood.

    The likelihood is profiled: given the share of the variance that lies between groups all other
    parameters have closed forms, so that the search is over one number in [0, 1). statsmodels'
    MixedLM, which the tests compare with, takes 20 times as long and does not converge where that
    share is 0, which pairs of a small study often have.

    Values (n,) that are not finite are left out. All is NaN with fewer than two groups, or where no
    group has two values. In a balanced design the interval is the t interval over the groups'
    means, unless the variance between groups is estimated as 0.

    Source: Laird and Ware (1982), Biometrics 38, 963.
    """
    values, groups = np.asarray(values, dtype=float).ravel(), np.asarray(groups).ravel()
    finite = np.isfinite(values)
    _, group = np.unique(groups[finite], return_inverse=True)
    values = values[finite]
    count = np.bincount(group)
    if len(count) < 2 or len(count) == values.size:
        return MixedFit(*[np.nan] * 5)
    means = np.bincount(group, values) / count
    within = float(((values - means[group]) ** 2).sum())
    if within <= 1e-24 * float((values**2).sum()):
        of_means = moments(means)
        return MixedFit(of_means.mean, *of_means.interval(), of_means.sd, 0.0)

    def profile(share: ArrayLike) -> tuple[np.ndarray, ...]:
        """-2 log likelihood, mean, its variance and residual variance at shares (n,) between."""
        ratio = (share / (1 - np.asarray(share)))[..., None]
        weight = count / (1 + count * ratio)
        total = weight.sum(axis=-1)
        mean = weight @ means / total
        between = (weight * (means - mean[..., None]) ** 2).sum(axis=-1)
        residual = (within + between) / (values.size - 1)
        loss = (values.size - 1) * np.log(residual) + np.log1p(count * ratio).sum(axis=-1)
        return loss + np.log(total), mean, residual / total, residual

    index = int(profile(_GRID)[0].argmin())
    bounds = _GRID[max(index - 1, 0)], np.append(_GRID, 1 - 1e-12)[index + 1]
    loss = lambda share: float(profile(share)[0])  # noqa: E731
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    share = float(best.x) if best.fun < profile(0.0)[0] else 0.0
    _, mean, variance, residual = (float(value) for value in profile(share))
    low, high = t_interval(mean, float(np.sqrt(variance)), len(count) - 1)
    group_sd = np.sqrt(share / (1 - share) * residual)
    return MixedFit(mean, low, high, float(group_sd), float(np.sqrt(residual)))
