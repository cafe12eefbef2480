"""One row a pair, setting, comparison and way of scoring: every gap that a reader could ask for."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.results.estimands import ESTIMANDS
from orla.study.keys import SETTING

_KEYS = [*SETTING, "comparison"]
_OF_FROZEN = next(iter(ESTIMANDS))
"""The estimand whose R2 and error stand here too: weights frozen at the end, as the paper does."""


class Multiverse(Statistic, name="multiverse", needs=("estimates", "horizon_gaps")):
    """The gap over the seeds of a pair by every metric and freezing step, with 95 % t intervals."""

    columns = SETTING | {
        "comparison": shared.COMPARED["comparison"],
        "metric": 'What the gap is of: an estimand\'s recovery, "r2" or "error".',
        "freezing_step": "Step after which weights were frozen; null for the estimand's own.",
        "gap": "Mean over seeds of the first learner's measure minus the second's.",
        "low": "Lower end of its 95 % t interval.",
        "high": "Upper end of that interval.",
        "unit": 'Unit of the gap: "pp", "R2" or "error".',
    }

    def table(
        self, estimates: pd.DataFrame, horizon_gaps: pd.DataFrame, *, settings: Settings
    ) -> pd.DataFrame:
        ended = estimates[estimates["estimand"] == _OF_FROZEN]
        parts = [
            _part(estimates, estimates["estimand"], "pp", "gap_pp", "t95_low_pp", "t95_high_pp"),
            _part(ended, "r2", "R2", "r2_gap", "r2_t95_low", "r2_t95_high"),
            _part(ended, "error", "error", "error_gap", "error_t95_low", "error_t95_high"),
        ]
        names = "gap_pp", "t95_low_pp", "t95_high_pp"
        at_steps = horizon_gaps.assign(comparison=settings.main)
        late = _part(at_steps, _OF_FROZEN, "pp", *names)
        parts.append(late.assign(freezing_step=horizon_gaps["horizon_steps"].astype(float)))
        table = pd.concat(parts, ignore_index=True)[list(self.columns)]
        order = [*SETTING, "comparison", "metric", "freezing_step"]
        return table.sort_values(order, ignore_index=True, na_position="last", kind="stable")


def _part(
    rows: pd.DataFrame, metric: str | pd.Series, unit: str, gap: str, low: str, high: str
) -> pd.DataFrame:
    """Rows of one unit, from the columns of that name; without a freezing step."""
    part = rows[_KEYS].assign(metric=metric, freezing_step=np.nan, unit=unit)
    return part.assign(gap=rows[gap], low=rows[low], high=rows[high])
