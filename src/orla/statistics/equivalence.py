"""One-sided t tests of a mean, and the two of them that show equivalence (TOST).

Source: Schuirmann (1987), J. Pharmacokin. Biopharm. 15, 657.
"""

from typing import NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used

from orla.statistics.means import Ends, t_interval


class Tost(NamedTuple):
    """The larger one-sided p; the central 1 - 2 alpha t interval, in the unit of the mean; the
    smallest margin at which the test passes; and whether it passes at the one that is given."""

    p: float
    interval: Ends
    delta_star: float
    equivalent: bool


def p_above(distance: float, error: float, dof: float) -> float:
    """One-sided p of a mean that is `distance` above what the null hypothesis allows.

    `error` is its standard error, `dof` (may be fractional) that error's degrees of freedom.
    Without any error the answer is a comparison: 0 where the distance is positive, else 1.
    """
    if error == 0:
        return float(distance <= 0)
    return float(scipy.stats.t.sf(distance / error, dof)) if np.isfinite(error) else 1.0


def tost(mean: float, error: float, dof: float, margin: float, alpha: float = 0.05) -> Tost:
    """Test whether a mean lies strictly within a symmetric margin.

    `alpha` is the level of each one-sided test; `error` and `dof` as in `p_above`.
    """
    p = max(p_above(mean + margin, error, dof), p_above(margin - mean, error, dof))
    interval = t_interval(mean, error, dof, 1 - 2 * alpha)
    return Tost(p, interval, max(map(abs, interval)), p < alpha)
