"""Power of registrations against the true gap, at a scatter between units."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import rows
from orla.prereg.registration import Registration
from orla.prereg.rules import MeanRule

COLUMNS = {
    "registration": "Its name.",
    "unit": "pair or seed.",
    "n": "Units registered, less the pairs that fail a guard, where such are assumed.",
    "sd": "Standard deviation of a unit's gap that is assumed.",
    "scale": "Unit of measurement of gaps and scatter.",
    "alpha": "Level, divided by the number of the family for one that is not primary.",
    "true_gap": "True mean gap.",
    **dict.fromkeys(("supported", "falsified", "inconclusive"), "Probability of this verdict."),
    "n_80": "Units at which the claim is supported with probability 0.8; null where never.",
}
POWER = 0.8
MOST_UNITS = 5000


def power_table(
    registrations: Sequence[Registration], tables: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Power of each registration of a study, a row a true gap, columns `COLUMNS`.

    The number of those that are not primary sets their level, at Holm's first and strictest step.
    The scatter is that of `tables`, result -> its table; a registration without a row is left out.
    """
    family = sum(not each.primary for each in registrations)
    frames = [pd.DataFrame(columns=list(COLUMNS))]
    for each in registrations:
        if np.isfinite(spread := gap_sd(each, tables)):
            frames.append(power_by_gap(each, spread, 1 if each.primary else family))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def power_by_gap(
    registration: Registration, sd: float, family_size: int = 1, failing_pairs: int = 0
) -> pd.DataFrame:
    """Power of one registration: the probability of each verdict, a row a true gap.

    `sd` is the standard deviation of a unit's gap, `family_size` divides alpha. Checks and counts
    are taken to hold, and guards in all but `failing_pairs` pairs. A verdict must be the same
    without those, so that it is computed over the rest: what it gives is a little more than the
    probability that both agree. OrlaError if `sd` is not positive, or there are fewer than two
    units.
    """
    n = (registration.pairs if registration.by_pairs else registration.seeds) - failing_pairs
    if failing_pairs and not registration.by_pairs:
        raise OrlaError("power: guards are of pairs, and the unit is the seed; leave out --failing")
    if not (np.isfinite(sd) and sd > 0):
        raise OrlaError(f"power: the standard deviation is {sd}; give a positive number")
    if n < 2:
        raise OrlaError(f"power: registration {registration.name} has {n} unit; it needs two")
    rule, alpha = registration.rule, registration.alpha / family_size
    what = (registration.name, registration.unit, n, float(sd), registration.scale, alpha)
    lines = []
    for gap in rule.gaps(sd / np.sqrt(n)):
        power = rule.probability_shown(gap, sd, n, alpha)
        opposite = rule.probability_refuted(gap, sd, n, alpha)
        n_80 = least_units(rule, gap, sd, alpha)
        lines.append((*what, float(gap), power, opposite, max(0.0, 1 - power - opposite), n_80))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def least_units(rule: MeanRule, gap: float, sd: float, alpha: float) -> float:
    """The least units at which the claim is shown with probability `POWER`; NaN where never."""

    def enough(n: int) -> bool:
        return rule.probability_shown(gap, sd, n, alpha) >= POWER

    if not rule.region.contains(gap, gap) or not enough(MOST_UNITS):
        return np.nan
    units = range(2, MOST_UNITS + 1)
    return float(units[bisect_left(units, True, key=enough)])


def gap_sd(registration: Registration, tables: Mapping[str, pd.DataFrame]) -> float:
    """Standard deviation of a unit's gap in the results; NaN where they have none.

    Over pairs it holds the scatter of seeds and of the choice of rates as well.
    """
    query = registration.query
    table = tables.get(query.result)
    if table is None or (row := rows.one_row(table, registration)) is None:
        return np.nan
    n, error = (row.number(query.columns[role]) for role in ("n", "standard_error"))
    return float(error * np.sqrt(n)) or np.nan
