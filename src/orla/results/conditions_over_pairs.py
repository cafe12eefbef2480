"""One row a condition and estimand: recovery and R2 over pairs of sessions."""

import numpy as np
import pandas as pd

from orla.results import guards, shared
from orla.results.base import Settings, Statistic
from orla.results.estimands import ESTIMANDS, TEXT
from orla.results.grids import Side, grids, side
from orla.statistics.means import moments
from orla.study.keys import KEYS

_KEYS = {name: text for name, text in KEYS.items() if name != "pair"}


class ConditionsOverPairs(Statistic, name="conditions_over_pairs"):
    """Scores of every condition at its chosen rate: the mean over pairs of the mean over seeds.

    A pair in which recovery has no meaning (the denominator's guard) is left out of recovery.
    """

    columns = _KEYS | {
        "estimand": TEXT,
        "n_pairs": "Pairs with a recovery.",
        "recovery_percent": "Mean recovery (%).",
        "t95_low_percent": "Lower end of its 95 % t interval over pairs (%).",
        "t95_high_percent": "Upper end of that interval (%).",
        "r2_mean": "Mean R2, outputs weighted equally.",
        "r2_t95_low": "Lower end of its 95 % t interval over pairs.",
        "r2_t95_high": "Upper end of that interval.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        found: dict[tuple, list[Side]] = {}
        for grid in grids(models):
            for name, estimand in ESTIMANDS.items():
                one = side(grid, estimand)
                if one is not None:
                    key = (*(grid.key[k] for k in _KEYS), name)
                    found.setdefault(key, []).append(one)
        rows = []
        for key in sorted(found, key=lambda key: key[:-1]):
            recovery = moments([_recovery(one) for one in found[key]])
            r2 = moments([shared.finite_mean(one.at_marked(one.estimand.r2)) for one in found[key]])
            low, high = recovery.interval()
            r2_low, r2_high = r2.interval()
            row = dict(zip((*_KEYS, "estimand"), key, strict=True))
            row |= {"n_pairs": recovery.n, "recovery_percent": recovery.mean}
            row |= {"t95_low_percent": low, "t95_high_percent": high}
            row |= {"r2_mean": r2.mean, "r2_t95_low": r2_low, "r2_t95_high": r2_high}
            rows.append(row)
        return pd.DataFrame(rows, columns=list(self.columns))


def _recovery(side: Side) -> float:
    """Mean recovery over the seeds of a pair; NaN where it has no meaning."""
    below = moments(side.denominator)
    if guards.denominator_fails(below.mean, below.standard_error):
        return np.nan
    return shared.finite_mean(side.at_marked(side.estimand.recovery))
