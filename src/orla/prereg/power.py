"""Power of registrations of version 2 against the true gap, at a scatter between units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import rows
from orla.prereg.claimed import PAIR, Claim, ClaimRegistration

COLUMNS = {
    "registration": "Its name.",
    "unit": "pair or seed.",
    "n": "Units registered, less the pairs that fail a guard, where such are assumed.",
    "sd_pp": "Standard deviation of a unit's gap that is assumed (pp).",
    "alpha": "Level, divided by the number of the family for one that is not primary.",
    "true_gap_pp": "True mean gap (pp).",
    "supported": "Probability of this verdict.",
    "falsified": "Probability of this verdict.",
    "inconclusive": "Probability of this verdict.",
    "n_80": "Units at which the claim is supported with probability 0.8; null where never.",
}
POWER = 0.8
MOST_UNITS = 5000
_GRID = 2000


def table(
    registrations: Iterable[ClaimRegistration],
    tables: Mapping[str, pd.DataFrame],
    sd: float | None = None,
) -> pd.DataFrame:
    """Power of each registration against a range of true gaps.

    Parameters
    ----------
    registrations
        Those of one folder and study: their number sets the level of those that are not primary,
        at Holm's first and strictest step.
    tables
        ``over_pairs`` and ``estimates``, from which the scatter is taken. A registration without a
        row there is left out, unless `sd` is given.
    sd
        Standard deviation of a unit's gap in pp, in place of the scatter.

    Returns
    -------
    pandas.DataFrame
        One row a registration and true gap, columns `COLUMNS`.
    """
    known = list(registrations)
    family = max(1, sum(not each.primary for each in known))
    found = []
    for each in known:
        spread = scatter(each, tables) if sd is None else sd
        if np.isfinite(spread):
            found.append(against_gap(each, spread, 1 if each.primary else family))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=list(COLUMNS))


def against_gap(
    registration: ClaimRegistration,
    sd: float,
    family: int = 1,
    gaps: Sequence[float] | None = None,
    failing: int = 0,
) -> pd.DataFrame:
    """Probability of each verdict of one registration, a row a true gap.

    The checks and counts are taken to hold, and the guards in all but `failing` pairs. A verdict
    must be the same without those, so that it is computed over the rest: what it gives is a little
    more than the probability that both agree.

    Parameters
    ----------
    registration
        The registration.
    sd
        Standard deviation in pp of a unit's gap: of a pair's mean over its seeds, or of a seed's.
    family
        By how much alpha is divided.
    gaps
        True gaps in pp; if not given, from zero past the claim's number.
    failing
        Pairs that fail a guard.

    Raises
    ------
    OrlaError
        When `sd` is not positive, or there are fewer than two units.
    """
    n = (registration.pairs if registration.unit == PAIR else registration.seeds) - failing
    if failing and registration.unit != PAIR:
        raise OrlaError("power: guards are of pairs, and the unit is the seed; leave out --failing")
    if not (np.isfinite(sd) and sd > 0):
        raise OrlaError(f"power: the standard deviation is {sd}; give a positive number of pp")
    if n < 2:
        raise OrlaError(f"power: registration {registration.name} has {n} unit; it needs two")
    claim, alpha = registration.claim, registration.alpha / family
    found = []
    for gap in _gaps(claim, sd / np.sqrt(n)) if gaps is None else gaps:
        shown, opposite = probabilities(claim, gap, sd, n, alpha)
        found.append(
            {
                "registration": registration.name,
                "unit": registration.unit,
                "n": n,
                "sd_pp": float(sd),
                "alpha": alpha,
                "true_gap_pp": float(gap),
                "supported": shown,
                "falsified": opposite,
                "inconclusive": max(0.0, 1 - shown - opposite),
                "n_80": needed(claim, gap, sd, alpha),
            }
        )
    return pd.DataFrame(found, columns=list(COLUMNS))


def probabilities(claim: Claim, gap: float, sd: float, n: int, alpha: float) -> tuple[float, float]:
    """Probability that a claim is shown, and that its opposite is, by `decide.p_values`.

    The estimate is normal and its variance estimate chi-square, with n - 1 degrees of freedom; the
    probability is the mean over quantiles of the latter.

    Parameters
    ----------
    claim
        The claim.
    gap, sd
        True mean of the units and their standard deviation, in pp.
    n
        Units, at least 2.
    alpha
        Level of the tests.
    """
    opposites = {"more_than": "less_than", "less_than": "more_than"}
    if claim.kind in opposites:
        opposite = _shown(replace(claim, kind=opposites[claim.kind]), gap, sd, n, alpha)
    else:
        error = sd / np.sqrt(n)
        bound = _beyond(claim.value, error, n - 1, alpha)
        opposite = float((_sf(bound, gap, error) + 1 - _sf(-bound, gap, error)).mean())
    return _shown(claim, gap, sd, n, alpha), opposite


def _shown(claim: Claim, gap: float, sd: float, n: int, alpha: float) -> float:
    """The first of `probabilities`."""
    error = sd / np.sqrt(n)
    half = stats.t.ppf(1 - alpha, n - 1) * _seen(error, n - 1)
    if claim.kind == "more_than":
        return float(_sf(claim.value + half, gap, error).mean())
    if claim.kind == "less_than":
        return float(1 - _sf(claim.value - half, gap, error).mean())
    inside = _sf(-claim.value + half, gap, error) - _sf(claim.value - half, gap, error)
    return float(np.clip(inside, 0, 1).mean())


def _sf(bound: np.ndarray, gap: float, error: float) -> np.ndarray:
    return stats.norm.sf((bound - gap) / error)


@lru_cache
def _seen(error: float, dof: int) -> np.ndarray:
    """Quantiles (_GRID,) of the standard error that is estimated where `error` is the true one."""
    return error * np.sqrt(stats.chi2.ppf((np.arange(_GRID) + 0.5) / _GRID, dof) / dof)


def needed(claim: Claim, gap: float, sd: float, alpha: float) -> float:
    """The least number of units at which the claim is shown with probability `POWER`.

    NaN where `MOST_UNITS` are not enough, as where the claim is not true of the gap.
    """

    def enough(n: int) -> bool:
        return _shown(claim, gap, sd, n, alpha) >= POWER

    if not claim.region.contains(gap, gap) or not enough(MOST_UNITS):
        return np.nan
    low, high = 1, 2
    while not enough(high):
        low, high = high, min(2 * high, MOST_UNITS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def scatter(registration: ClaimRegistration, tables: Mapping[str, pd.DataFrame]) -> float:
    """Standard deviation in pp of a unit's gap in the results; NaN where they have none.

    It is the standard error times the root of the number of units, so that over pairs it holds the
    scatter of seeds and of the choice of rates as well.
    """
    if registration.result not in tables:
        return np.nan
    where = registration.where
    row = rows.one_row(tables[registration.result], where, registration.name, registration.result)
    if row is None:
        return np.nan
    n = row["n_pairs" if registration.unit == PAIR else "n_seeds"]
    error = "standard_error" if registration.quantity else "standard_error_pp"
    spread = float(row[error] * np.sqrt(n))
    return spread if spread > 0 else np.nan


def _gaps(claim: Claim, error: float) -> np.ndarray:
    if claim.kind == "equivalent_within":
        return np.linspace(0, 3 * claim.value, 13)
    sign = 1 if claim.kind == "more_than" else -1
    return claim.value + sign * error * np.linspace(-4, 6, 11)


@lru_cache
def _beyond(margin: float, error: float, dof: int, alpha: float) -> np.ndarray:
    """Least |estimate| at each of `_seen` at which a mean beyond the margin is shown."""
    errors = _seen(error, dof)
    low = margin + stats.t.ppf(1 - alpha, dof) * errors
    high = margin + stats.t.ppf(1 - alpha / 2, dof) * errors
    for _ in range(40):
        middle = (low + high) / 2
        p = stats.t.sf((middle - margin) / errors, dof) + stats.t.sf(
            (middle + margin) / errors, dof
        )
        low, high = np.where(p > alpha, middle, low), np.where(p > alpha, high, middle)
    return high
