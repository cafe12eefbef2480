"""One row a condition and estimand: how certain the choice of its rate is."""

import numpy as np
import pandas as pd

from orla.results.base import Settings, Statistic
from orla.results.estimands import ESTIMANDS, TEXT
from orla.results.grids import Side, grids, side
from orla.statistics.resampling import draws
from orla.study.keys import KEYS


class Selection(Statistic, name="selection"):
    """The chosen rate, how often resampled seeds choose another, and what the choice costs."""

    columns = KEYS | {
        "estimand": TEXT,
        "learning_rate": "Chosen learning rate.",
        "edge": "Whether it lies on the edge of its grid.",
        "other_rate_share": "Share of resamples of seeds that choose another rate.",
        "next_rate": "The other rate that they choose most often; null where they choose none.",
        "price_pp": "Mean recovery at the rate chosen on the scored steps minus at this one (pp).",
        "n_seeds": "Seeds.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            grid.key | {"estimand": name} | _row(found, settings)
            for grid in grids(models)
            for name, estimand in ESTIMANDS.items()
            if (found := side(grid, estimand)) is not None
        ]
        return pd.DataFrame(rows, columns=list(self.columns))


def _row(side: Side, settings: Settings) -> dict[str, float]:
    seeds = len(side.grid.seeds)
    other, next_rate = np.nan, np.nan
    if seeds > 1:
        shares = side.other_rates(draws(seeds, settings.resamples, settings.seed))
        other = float(shares.sum())
        next_rate = float(side.rates[shares.argmax()]) if other > 0 else np.nan
    return {
        "learning_rate": float(side.rates[side.marked]),
        "edge": bool((side.at_marked(side.estimand.edge) == 1).any()),
        "other_rate_share": other,
        "next_rate": next_rate,
        "price_pp": side.price,
        "n_seeds": seeds,
    }
