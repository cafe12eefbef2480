"""One row for all optimizers of a setting: does the update ratio order the recovery gap?"""

import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.bootstrap import ordering_interval
from orla.study.keys import SETTING

_SHARED = {name: text for name, text in SETTING.items() if name != "optimizer"}


class RatioGapOrder(Statistic, name="ratio_gap_order"):
    """Spearman's rho over optimizers between mean update ratio and mean gap, main comparison.

    Seeds are resampled jointly for all optimizers, and both means are computed in each resample.
    The interval holds the variation between seeds, not that between optimizers. A setting has a
    row where at least three optimizers have a finite seed.
    """

    columns = _SHARED | {
        "n_optimizers": "Optimizers with a finite seed.",
        "spearman": "Spearman's rank correlation over optimizers.",
        "low": "Lower end of its interval.",
        "high": "Upper end of its interval.",
        "n_seeds": "Smallest number of finite seeds that any of the optimizers has.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        points = [
            pd.DataFrame(
                {"seed": pairs["seed"], "ratio": ratio, "gap": gap}
                | {name: key[name] for name in SETTING}
            )
            for key, pairs in shared.pairs(shared.selected(models), settings, [settings.main])
            for ratio, gap in [shared.ratio_and_gap(pairs)]
        ]
        rows = []
        for key, group in shared.groups(pd.concat(points), list(_SHARED)) if points else ():
            ratio = group.pivot(index="optimizer", columns="seed", values="ratio")
            gap = group.pivot(index="optimizer", columns="seed", values="gap")
            present = gap.notna().sum(axis=1)
            kept = present.index[present > 0]
            if len(kept) < 3:
                continue
            interval = ordering_interval(
                ratio.loc[kept], gap.loc[kept], resamples=settings.resamples, seed=settings.seed
            )
            rows.append(
                {
                    **key,
                    "n_optimizers": len(kept),
                    "spearman": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "n_seeds": int(present[kept].min()),
                }
            )
        return pd.DataFrame(rows, columns=list(self.columns))
