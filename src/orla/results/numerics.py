"""What numeric configurations do to the gap, and to the choice of the rates that it is at."""

from collections import defaultdict
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd

from orla.results.base import Settings, Statistic
from orla.results.contrasts import COMPARED, Contrast, contrasts
from orla.results.estimands import AT_END
from orla.results.grids import Side
from orla.results.summary import ends
from orla.statistics.means import moments
from orla.study.keys import SETTING

CHOICES = {"rolling": AT_END, "tail": replace(AT_END, selected="selected_on_tail")}
"""Choice of the rate -> how it is marked: by rolling origins, and by one freezing before the last
fifth of the adapt part."""


class Numerics(Statistic, name="numerics"):
    """Gap of the main comparison by precision, at each one's rates and at those of `rates_of`.

    Of settings that were run at several precisions. Source: docs/protocol.md, Numerics.
    """

    columns: ClassVar = {
        **SETTING,
        **COMPARED,
        "choice": '"rolling", or "tail": by one freezing before the last fifth of the adapt part.',
        "rates_of": "Precision at which the rates were chosen.",
        "learning_rate_full": "Rate of the learner that is subtracted from.",
        "learning_rate_immediate": "Rate of the learner that is subtracted.",
        "n_flipped": "Learners, of these two, for which this precision chooses another rate.",
        "n_seeds": "Seeds with a finite gap; 0 also where a rate was not tried at this precision.",
        "gap_pp": "Mean over seeds of the difference of held-out recovery (pp).",
        **ends("t95_{}_pp"),
        "recovery_full_percent": "Mean recovery of the learner that is subtracted from (%).",
        "recovery_immediate_percent": "Mean recovery of the learner that is subtracted (%).",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        at: dict[tuple, dict[str, Contrast]] = defaultdict(dict)
        for one in contrasts(models, settings, [settings.main], CHOICES):
            key = tuple(value for name, value in one.key.items() if name != "precision")
            at[key][one.key["precision"]] = one
        rows = [
            self._row(one, of[rates])
            for of in at.values()
            for precision, one in of.items()
            for rates in dict.fromkeys((settings.rates_of, precision))
            if len(of) > 1 and rates in of
        ]
        return pd.DataFrame(rows, columns=list(self.columns))

    def _row(self, one: Contrast, rates: Contrast) -> list[object]:
        chosen, own = ([side.rate for side in each.sides] for each in (rates, one))
        full, immediate = map(_recovery, one.sides, chosen)
        gap = moments(full - immediate if one.full.has_meaning else [])
        flipped = int((~np.isclose(chosen, own, atol=0)).sum())
        means = moments(full).mean, moments(immediate).mean
        keys = (*one.key.values(), rates.key["precision"])
        return [*keys, *chosen, flipped, gap.n, gap.mean, *gap.interval(), *means]


def _recovery(side: Side, rate: float) -> np.ndarray:
    """Recovery (seeds,) at a rate; NaN where it was not tried."""
    near = np.flatnonzero(np.isclose(side.grid.rates, rate, atol=0))
    there = side.values(AT_END.recovery)
    return there[:, near[0]] if len(near) else np.full(len(there), np.nan)
