"""One row a setting and comparison: the held-out gap between two learners, and its TOST."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.equivalence import tost_paired
from orla.statistics.means import moments
from orla.study.keys import SETTING


class Gaps(Statistic, name="gaps"):
    """Held-out recovery of one learner minus another's, paired by seed, with its equivalence test.

    A gap is over the seeds that both ran. Source: docs/protocol.md, Learners and cadence.
    """

    columns = (
        SETTING
        | shared.COMPARED
        | {
            "n_seeds": "Seeds with a finite gap.",
            "n_diverged": "Seeds in which either learner diverged.",
            "gap_pp": "Mean over seeds of the difference of held-out recovery (pp).",
            "low_pp": "Lower end of its interval (pp).",
            "high_pp": "Upper end of its interval (pp).",
            "t90_low_pp": "Lower end of the 1 - 2 alpha t interval, 90 % at alpha 0.05 (pp).",
            "t90_high_pp": "Upper end of that interval (pp).",
            "margin_pp": "Equivalence margin (pp).",
            "tost_p": "The larger p of the two one-sided t tests.",
            "delta_star_pp": "Smallest margin at which the test passes (pp).",
            "equivalent": "Whether the test passes at the margin.",
            "unreliable": "Whether recovery's denominator is too small in any seed.",
            "r2_gap": "Mean over seeds of the difference of held-out R2 (mean over outputs).",
            "error_gap": "Mean over seeds of the difference of held-out mean squared error.",
            "t95_low_pp": "Lower end of the 95 % t interval of the gap (pp).",
            "t95_high_pp": "Upper end of that interval (pp).",
            "alpha": "Level of each one-sided test.",
            "adapt_gap_pp": "Mean over seeds of the difference of recovery while adapting (pp).",
            "adapt_t95_low_pp": "Lower end of its 95 % t interval (pp).",
            "adapt_t95_high_pp": "Upper end of that interval (pp).",
        }
    )

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = []
        for key, pairs in shared.pairs(shared.selected(models), settings, settings.comparisons):
            gap = pairs["gap_pp"].to_numpy(float)
            finite = gap[np.isfinite(gap)]
            interval = settings.mean(gap)
            low, high = moments(gap).interval()
            adapting = moments(shared.difference(pairs, "recovery_adapt_percent"))
            adapt_low, adapt_high = adapting.interval()
            row = {
                **key,
                "n_seeds": finite.size,
                "n_diverged": int(shared.either(pairs, "diverged").sum()),
                "gap_pp": interval.estimate,
                "low_pp": interval.low,
                "high_pp": interval.high,
                "t90_low_pp": np.nan,
                "t90_high_pp": np.nan,
                "margin_pp": float(settings.margin_pp),
                "tost_p": 1.0,
                "delta_star_pp": np.nan,
                "equivalent": False,
                "unreliable": bool(shared.either(pairs, "unreliable").any()),
                "r2_gap": shared.finite_mean(shared.difference(pairs, "r2_mean")),
                "error_gap": shared.finite_mean(shared.difference(pairs, "heldout_error")),
                "t95_low_pp": low,
                "t95_high_pp": high,
                "alpha": float(settings.alpha),
                "adapt_gap_pp": adapting.mean,
                "adapt_t95_low_pp": adapt_low,
                "adapt_t95_high_pp": adapt_high,
            }
            if finite.size >= 2:
                margin = settings.margin_pp
                test = tost_paired(finite, -margin, margin, settings.alpha)
                row |= {
                    "t90_low_pp": test.interval_low,
                    "t90_high_pp": test.interval_high,
                    "tost_p": test.p,
                    "delta_star_pp": test.delta_star,
                    "equivalent": test.equivalent,
                }
            rows.append(row)
        return pd.DataFrame(rows, columns=list(self.columns))
