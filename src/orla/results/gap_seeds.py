"""One row a setting, comparison and seed: the points behind the gaps."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.study.keys import SETTING


class GapSeeds(Statistic, name="gap_seeds"):
    """Every finite seed's held-out recovery gap."""

    columns = (
        SETTING
        | shared.COMPARED
        | {"seed": "Seed.", "gap_pp": "Difference of held-out recovery (pp)."}
    )

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = [
            {**key, "seed": seed, "gap_pp": gap}
            for key, pairs in shared.pairs(shared.selected(models), settings, settings.comparisons)
            for seed, gap in zip(pairs["seed"], pairs["gap_pp"], strict=True)
            if np.isfinite(gap)
        ]
        return pd.DataFrame(rows, columns=list(self.columns))
