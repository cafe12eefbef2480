"""Power of registrations against the true gap, at a scatter between units."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import rows
from orla.prereg.registration import PAIR, Registration
from orla.prereg.rules.base import MeanRule

COLUMNS = {
    "registration": "Its name.",
    "unit": "pair or seed.",
    "n": "Units registered, less the pairs that fail a guard, where such are assumed.",
    "sd": "Standard deviation of a unit's gap that is assumed.",
    "scale": "Unit of measurement of gaps and scatter.",
    "alpha": "Level, divided by the number of the family for one that is not primary.",
    "true_gap": "True mean gap.",
    "supported": "Probability of this verdict.",
    "falsified": "Probability of this verdict.",
    "inconclusive": "Probability of this verdict.",
    "n_80": "Units at which the claim is supported with probability 0.8; null where never.",
}
POWER = 0.8
MOST_UNITS = 5000


def table(
    registrations: Iterable[Registration],
    tables: Mapping[str, pd.DataFrame],
    sd: float | None = None,
) -> pd.DataFrame:
    """Power of each registration of a study that is tested, a row a true gap, columns `COLUMNS`.

    The number of those that are not primary sets their level, at Holm's first and strictest step.

    Args:
        registrations: The registrations.
        tables: Result -> its table, from which the scatter is taken. A registration without a row
            there is left out, unless `sd` is given.
        sd: Standard deviation of a unit's gap, in place of the scatter.
    """
    registrations = list(registrations)
    family = sum(not each.primary for each in registrations)
    frames = [pd.DataFrame(columns=list(COLUMNS))]
    for each in registrations:
        spread = scatter(each, tables) if sd is None else sd
        if np.isfinite(spread):
            frames.append(against_gap(each, spread, 1 if each.primary else family))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def against_gap(
    registration: Registration,
    sd: float,
    family: int = 1,
    gaps: Sequence[float] | None = None,
    failing: int = 0,
) -> pd.DataFrame:
    """Probability of each verdict of one registration, a row a true gap.

    The checks and counts are taken to hold, and the guards in all but `failing` pairs. A verdict
    must be the same without those, so that it is computed over the rest: what it gives is a little
    more than the probability that both agree.

    Args:
        registration: The registration.
        sd: Standard deviation of a unit's gap, in the registration's unit of measurement.
        family: By how much alpha is divided.
        gaps: True gaps; if not given, those that the rule finds worth a row.
        failing: Pairs that fail a guard.

    Raises:
        OrlaError: `sd` is not positive, or there are fewer than two units.
    """
    n = (registration.pairs if registration.unit == PAIR else registration.seeds) - failing
    if failing and registration.unit != PAIR:
        raise OrlaError("power: guards are of pairs, and the unit is the seed; leave out --failing")
    if not (np.isfinite(sd) and sd > 0):
        raise OrlaError(f"power: the standard deviation is {sd}; give a positive number")
    if n < 2:
        raise OrlaError(f"power: registration {registration.name} has {n} unit; it needs two")
    rule, alpha = registration.rule, registration.alpha / family
    lines = []
    for gap in rule.gaps(sd / np.sqrt(n)) if gaps is None else gaps:
        shown, opposite = rule.shown(gap, sd, n, alpha), rule.refuted(gap, sd, n, alpha)
        what = (registration.name, registration.unit, n, float(sd), registration.scale, alpha)
        answers = (shown, opposite, max(0.0, 1 - shown - opposite), needed(rule, gap, sd, alpha))
        lines.append((*what, float(gap), *answers))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def needed(rule: MeanRule, gap: float, sd: float, alpha: float) -> float:
    """The least number of units at which the claim is shown with probability `POWER`.

    NaN where `MOST_UNITS` are not enough, as where the claim is not true of the gap.
    """

    def enough(n: int) -> bool:
        return rule.shown(gap, sd, n, alpha) >= POWER

    if not rule.region.contains(gap, gap) or not enough(MOST_UNITS):
        return np.nan
    high = 2
    while not enough(high):
        high = min(2 * high, MOST_UNITS)
    at_most = range(high // 2 + 1, high + 1)
    return float(at_most[bisect_left(at_most, True, key=enough)])


def scatter(registration: Registration, tables: Mapping[str, pd.DataFrame]) -> float:
    """Standard deviation of a unit's gap in the results; NaN where they have none.

    It is the standard error times the root of the number of units, so that over pairs it holds the
    scatter of seeds and of the choice of rates as well.
    """
    [reading] = registration.readings
    if reading.result not in tables:
        return np.nan
    row = rows.one_row(tables[reading.result], reading, registration.name)
    if row is None:
        return np.nan
    n, error = (row.number(reading.columns[role]) for role in ("n", "standard_error"))
    spread = float(error * np.sqrt(n))
    return spread if spread > 0 else np.nan
