"""One row a setting and horizon: the gap after adapting for a shorter part of the stream."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.means import moments
from orla.study.keys import KEYS, SETTING


class HorizonGaps(Statistic, name="horizon_gaps", needs=("horizon",)):
    """Held-out recovery gap of the main comparison, had the models stopped adapting earlier."""

    columns = SETTING | {
        "horizon_steps": "Steps that the models adapted for.",
        "n_seeds": "Seeds with a finite gap.",
        "gap_pp": "Mean over seeds of the difference of held-out recovery (pp).",
        "low_pp": "Lower end of its interval (pp).",
        "high_pp": "Upper end of its interval (pp).",
        "t95_low_pp": "Lower end of its 95 % t interval (pp).",
        "t95_high_pp": "Upper end of that interval (pp).",
    }

    def table(self, horizon: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        shared.demand(horizon, [*KEYS, "seed", "horizon_steps", "recovery_heldout_percent"])
        rows = []
        for steps, models in horizon.groupby("horizon_steps", sort=True):
            for key, pairs in shared.pairs(models, settings, [settings.main]):
                gap = pairs["gap_pp"].to_numpy(float)
                interval = settings.mean(gap)
                low, high = moments(gap).interval()
                rows.append(
                    {
                        **{name: key[name] for name in SETTING},
                        "horizon_steps": int(steps),
                        "n_seeds": int(np.isfinite(gap).sum()),
                        "gap_pp": interval.estimate,
                        "low_pp": interval.low,
                        "high_pp": interval.high,
                        "t95_low_pp": low,
                        "t95_high_pp": high,
                    }
                )
        table = pd.DataFrame(rows, columns=list(self.columns))
        return table.sort_values([*SETTING, "horizon_steps"], ignore_index=True)
