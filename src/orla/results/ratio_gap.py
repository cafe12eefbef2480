"""One row a setting: the update ratio of the main comparison's first learner beside its gap."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.study.keys import SETTING


class RatioGap(Statistic, name="ratio_gap"):
    """Update ratio ||dW_hh|| / ||dW_out|| and recovery gap, both over the same seeds."""

    columns = SETTING | {
        "update_ratio": "Mean update ratio of the comparison's first learner.",
        "update_ratio_low": "Lower end of its interval.",
        "update_ratio_high": "Upper end of its interval.",
        "gap_pp": "Mean difference of held-out recovery (pp).",
        "low_pp": "Lower end of its interval (pp).",
        "high_pp": "Upper end of its interval (pp).",
        "n_seeds": "Seeds with a finite ratio and gap.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = []
        for key, pairs in shared.pairs(shared.selected(models), settings, [settings.main]):
            ratios, gap = shared.ratio_and_gap(pairs)
            ratio, difference = settings.mean(ratios), settings.mean(gap)
            rows.append(
                {
                    **{name: key[name] for name in SETTING},
                    "update_ratio": ratio.estimate,
                    "update_ratio_low": ratio.low,
                    "update_ratio_high": ratio.high,
                    "gap_pp": difference.estimate,
                    "low_pp": difference.low,
                    "high_pp": difference.high,
                    "n_seeds": int(np.isfinite(gap).sum()),
                }
            )
        return pd.DataFrame(rows, columns=list(self.columns))
