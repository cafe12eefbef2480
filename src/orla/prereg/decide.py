"""p values of a claim about a mean, and of its opposite; Holm's correction of a family."""

from collections.abc import Sequence

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from orla.prereg.claimed import Claim


def p_values(claim: Claim, mean: float, standard_error: float, dof: float) -> tuple[float, float]:
    """p of the claim, and p of its opposite, by t tests.

    A claim of equivalence is shown by two one-sided tests (Schuirmann 1987). Its opposite is that
    the mean lies beyond a margin; its p is the probability, at a true mean on the margin, of an
    estimate as far from zero on either side (Hodges and Lehmann 1954). The opposite of another
    claim is shown by the one-sided test of the other side.

    Parameters
    ----------
    claim
        What is claimed, in pp.
    mean, standard_error
        The estimate and its standard error in pp. Without any error the answer is a comparison of
        numbers: p is 0 or 1.
    dof
        Degrees of freedom of the standard error.

    Returns
    -------
    tuple
        The two p values; both are 1 where a number is not finite or `dof` is below 1.
    """
    if not (np.isfinite([mean, standard_error, dof]).all() and dof >= 1 and standard_error >= 0):
        return 1.0, 1.0
    value = claim.value
    if claim.kind == "more_than":
        return _above(mean - value, standard_error, dof), _above(value - mean, standard_error, dof)
    if claim.kind == "less_than":
        return _above(value - mean, standard_error, dof), _above(mean - value, standard_error, dof)
    within = max(
        _above(mean + value, standard_error, dof), _above(value - mean, standard_error, dof)
    )
    beyond = _above(abs(mean) - value, standard_error, dof)
    if standard_error > 0:
        beyond = min(1.0, beyond + _above(abs(mean) + value, standard_error, dof))
    return within, beyond


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values of a family, in the given order; [] of an empty one."""
    return [float(each) for each in multipletests(p, method="holm")[1]] if len(p) else []


def _above(distance: float, standard_error: float, dof: float) -> float:
    """One-sided p of a mean that is `distance` above what the null hypothesis allows."""
    if standard_error == 0:
        return float(distance <= 0)
    return float(stats.t.sf(distance / standard_error, dof))
