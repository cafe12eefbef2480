"""One-sided t tests of a mean, and the two of them that show equivalence (TOST).

Source: Schuirmann (1987), J. Pharmacokin. Biopharm. 15, 657.
"""

from typing import NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used

from orla.statistics.means import Ends, t_interval


class Tost(NamedTuple):
    """`p_lower` belongs to H0: mean <= the lower margin, `p_upper` to H0: mean >= the upper one.

    The interval is the central 1 - 2 alpha t interval, in the unit of the mean.
    """

    p_lower: float
    p_upper: float
    interval: Ends
    alpha: float

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
        """The smallest symmetric margin at which the test passes: the larger absolute end."""
        return max(map(abs, self.interval))


def p_above(distance: float, error: float, dof: float) -> float:
    """One-sided p of a mean that is `distance` above what the null hypothesis allows.

    `error` is its standard error, `dof` (may be fractional) that error's degrees of freedom.
    Without any error the answer is a comparison: 0 where the distance is positive, else 1.
    """
    if error == 0:
        return float(distance <= 0)
    return float(scipy.stats.t.sf(distance / error, dof)) if np.isfinite(error) else 1.0


def tost(mean: float, error: float, dof: float, margins: Ends, alpha: float = 0.05) -> Tost:
    """Test whether a mean lies strictly within two margins, a lower and an upper one, at a level of
    `alpha` for each one-sided test; `error` and `dof` as in `p_above`."""
    low, high = margins
    ps = p_above(mean - low, error, dof), p_above(high - mean, error, dof)
    return Tost(*ps, t_interval(mean, error, dof, 1 - 2 * alpha), alpha)
