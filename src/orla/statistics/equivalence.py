"""Two one-sided tests (TOST) for equivalence.

Schuirmann (1987), *J. Pharmacokin. Biopharm.* 15, 657. The unit of replication is the pair.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from orla.errors import OrlaError


@dataclass(frozen=True)
class Tost:
    """What the two one-sided tests say of one mean difference.

    Every quantity but the t's, p's, `alpha`, `dof` and `n` is in the unit of the differences.
    `p_lower` belongs to H0: mean <= margin_low, `p_upper` to H0: mean >= margin_high; `p` is the
    larger of the two. The interval is the central 1 - 2 alpha t interval, and `delta_star` its
    larger absolute end: the smallest symmetric margin at which the test passes.
    """

    n: int
    mean: float
    standard_error: float
    dof: float
    margin_low: float
    margin_high: float
    alpha: float
    t_lower: float
    t_upper: float
    p_lower: float
    p_upper: float
    interval_low: float
    interval_high: float

    @property
    def p(self) -> float:
        """The p value of the whole test: the larger one-sided p."""
        return max(self.p_lower, self.p_upper)

    @property
    def equivalent(self) -> bool:
        """Whether the mean lies within the margins at level alpha."""
        return self.p < self.alpha

    @property
    def delta_star(self) -> float:
        """The smallest symmetric margin at which the test passes."""
        return max(abs(self.interval_low), abs(self.interval_high))


def tost_paired(
    differences: ArrayLike, margin_low: float, margin_high: float, alpha: float = 0.05
) -> Tost:
    """Test whether the mean of paired differences lies strictly within two margins.

    Parameters
    ----------
    differences
        (n,) one difference a pair, such as a recovery gap in pp.
    margin_low, margin_high
        The equivalence margins, in the unit of the differences; they need not be symmetric.
    alpha
        Level of each one-sided test.

    Returns
    -------
    Tost
        With fewer than two pairs nothing is shown: both p are 1 and the interval is the whole
        line. Without any spread the answer is a comparison of numbers: a one-sided p is 0 where
        the mean is strictly on the inner side of its margin and 1 elsewhere.

    Raises
    ------
    OrlaError
        On a NaN or infinite difference, on no difference at all, or on margins out of order.
    """
    differences = np.asarray(differences, dtype=float).ravel()
    _demand_finite(differences)
    n = differences.size
    # Equal values can have a mean that is off by a rounding, hence a spurious spread.
    constant = np.ptp(differences) == 0
    mean = differences[0] if constant else differences.mean()
    if n < 2:
        error = np.inf
    elif constant:
        error = 0.0
    else:
        error = differences.std(ddof=1) / np.sqrt(n)
    return tost_from_moments(mean, error, n - 1, margin_low, margin_high, alpha, n=n)


def tost_from_moments(
    mean: float,
    standard_error: float,
    dof: float,
    margin_low: float,
    margin_high: float,
    alpha: float = 0.05,
    *,
    n: int | None = None,
) -> Tost:
    """Two one-sided tests from a mean, its standard error and its degrees of freedom.

    Parameters
    ----------
    mean, standard_error
        In the unit of the margins. A standard error of 0 or infinity is answered as in
        `tost_paired`.
    dof
        Degrees of freedom of the standard error; may be fractional.
    margin_low, margin_high, alpha
        As in `tost_paired`.
    n
        Number of pairs to record; dof + 1 if not given.

    Raises
    ------
    OrlaError
        On margins out of order or an alpha outside (0, 0.5).
    """
    _demand_margins(margin_low, margin_high, alpha)
    from_low, from_high = mean - margin_low, mean - margin_high
    if np.isinf(standard_error):
        t_lower, t_upper, p_lower, p_upper, half = 0.0, 0.0, 1.0, 1.0, np.inf
    elif standard_error == 0:
        t_lower, t_upper = (
            np.copysign(np.inf, gap) if gap else 0.0 for gap in (from_low, from_high)
        )
        p_lower, p_upper, half = float(from_low <= 0), float(from_high >= 0), 0.0
    else:
        t_lower, t_upper = from_low / standard_error, from_high / standard_error
        p_lower, p_upper = stats.t.sf(t_lower, dof), stats.t.cdf(t_upper, dof)
        half = stats.t.ppf(1 - alpha, dof) * standard_error
    return Tost(
        n=int(dof) + 1 if n is None else n,
        mean=float(mean),
        standard_error=float(standard_error),
        dof=float(dof),
        margin_low=float(margin_low),
        margin_high=float(margin_high),
        alpha=float(alpha),
        t_lower=float(t_lower),
        t_upper=float(t_upper),
        p_lower=float(p_lower),
        p_upper=float(p_upper),
        interval_low=float(mean - half),
        interval_high=float(mean + half),
    )


def _demand_finite(differences: np.ndarray) -> None:
    if differences.size == 0:
        raise OrlaError("tost_paired: no differences; there must be at least one pair")
    bad = int((~np.isfinite(differences)).sum())
    if bad:
        raise OrlaError(
            f"tost_paired: {bad} of {differences.size} differences are not finite; "
            "leave diverged pairs out and report how many they were"
        )


def _demand_margins(margin_low: float, margin_high: float, alpha: float) -> None:
    if not margin_low < margin_high:
        raise OrlaError(f"TOST margins ({margin_low}, {margin_high}): the first must be smaller")
    if not 0 < alpha < 0.5:
        raise OrlaError(f"TOST alpha is {alpha}; it must lie between 0 and 0.5")
