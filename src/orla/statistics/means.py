"""Means with their t intervals and tests, and the prediction interval of a further unit."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used
from numpy.typing import ArrayLike

Ends = tuple[float, float]


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation (divisor n - 1) of `n` values, NaN without one and two values."""

    n: int
    mean: float
    sd: float

    @property
    def standard_error(self) -> float:
        """Standard error of the mean; NaN with fewer than two values."""
        return self.sd / np.sqrt(self.n) if self.n else np.nan

    @property
    def dof(self) -> int:
        """Degrees of freedom of the standard error: n - 1, and 0 without a value."""
        return max(self.n - 1, 0)

    def interval(self, confidence: float = 0.95) -> Ends:
        """Ends of the t interval of the mean; see `t_interval`."""
        return t_interval(self.mean, self.standard_error, self.dof, confidence)


def moments(values: ArrayLike) -> Moments:
    """Moments of the finite values of `values` (n,); the others are left out.

    Equal values have exactly their own value as mean and a standard deviation of 0: a sum of equal
    values can be off by a rounding, which would be a spurious spread.
    """
    values = np.asarray(values, dtype=float).ravel()
    values = values[np.isfinite(values)]
    n = values.size
    if n == 0:
        return Moments(0, np.nan, np.nan)
    if values.min() == values.max():
        return Moments(n, float(values[0]), 0.0 if n > 1 else np.nan)
    return Moments(n, float(values.mean()), float(values.std(ddof=1)))


def t_interval(mean: float, standard_error: float, dof: float, confidence: float = 0.95) -> Ends:
    """Ends of a central t interval, in the unit of the mean; NaN below one degree of freedom.

    A standard error of 0 gives an interval of no width. `confidence` is in (0, 1).
    """
    if dof < 1 or not (np.isfinite(mean) and np.isfinite(standard_error)):
        return np.nan, np.nan
    half = t_quantile((1 + confidence) / 2, dof) * standard_error
    return float(mean - half), float(mean + half)


def prediction_interval(mean: float, sd: float, n: int) -> Ends:
    """Ends of the 95 % interval for one further value, given n: mean -+ t sd sqrt(1 + 1/n).

    Source: Hahn and Meeker, Statistical Intervals (1991), section 4.7. NaN with fewer than two.
    """
    return t_interval(mean, sd * np.sqrt(1 + 1 / n) if n else np.nan, n - 1)


@lru_cache(maxsize=1024)
def t_quantile(probability: float, dof: float) -> float:
    """The quantile of Student's t with `dof` degrees of freedom."""
    return float(scipy.special.stdtrit(dof, probability))


class Tost(NamedTuple):
    """The larger one-sided p; the central 1 - 2 alpha t interval, in the unit of the mean; the
    smallest margin at which the test passes; and whether it passes at the one that is given."""

    p: float
    interval: Ends
    delta_star: float
    equivalent: bool


def p_above(distance: float, standard_error: float, dof: float) -> float:
    """One-sided p of a mean that is `distance` above what the null hypothesis allows.

    `dof` are degrees of freedom (may be fractional) of its standard error.
    Without any error the answer is a comparison: 0 where the distance is positive, else 1.
    """
    if standard_error == 0:
        return float(distance <= 0)
    if not np.isfinite(standard_error):
        return 1.0
    return float(scipy.special.stdtr(dof, -distance / standard_error))


def tost(
    mean: float, standard_error: float, dof: float, margin: float, alpha: float = 0.05
) -> Tost:
    """Test whether a mean lies strictly within a symmetric margin, by two one-sided t tests.

    Source: Schuirmann (1987), J. Pharmacokin. Biopharm. 15, 657. `alpha` is the level of each
    one-sided test; `dof` as in `p_above`.
    """
    p = max(
        p_above(mean + margin, standard_error, dof), p_above(margin - mean, standard_error, dof)
    )
    interval = t_interval(mean, standard_error, dof, 1 - 2 * alpha)
    return Tost(p, interval, max(map(abs, interval)), p < alpha)
