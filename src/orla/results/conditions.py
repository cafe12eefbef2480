"""One row a condition: recovery, R2 and update ratio at its selected rate."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.means import moments
from orla.study.keys import KEYS


class Conditions(Statistic, name="conditions"):
    """Scores of every condition at its selected rate, over seeds."""

    columns = KEYS | {
        "learning_rate": "Selected learning rate.",
        "edge": "Whether the selected rate lies on the edge of its grid.",
        "n_seeds": "Seeds with a finite held-out recovery.",
        "n_diverged": "Seeds that diverged.",
        "recovery_percent": "Mean held-out recovery (%).",
        "low_percent": "Lower end of its interval (%).",
        "high_percent": "Upper end of its interval (%).",
        "adapt_recovery_percent": "Mean recovery while adapting (%).",
        "adapt_low_percent": "Lower end of its interval (%).",
        "adapt_high_percent": "Upper end of its interval (%).",
        "r2_mean": "Mean held-out R2, outputs weighted equally.",
        "r2_weighted": "Mean held-out R2, outputs weighted by variance.",
        "update_ratio": "Mean ratio ||dW_hh|| / ||dW_out|| of an update.",
        "update_ratio_low": "Lower end of its interval.",
        "update_ratio_high": "Upper end of its interval.",
        "unreliable": "Whether recovery's denominator is too small in any seed.",
        "recovery_vs_rtrl_percent": "Mean held-out recovery where that of full RTRL is 100 (%).",
        "recovery_vs_rtrl_low_percent": "Lower end of its interval (%).",
        "recovery_vs_rtrl_high_percent": "Upper end of its interval (%).",
        "t95_low_percent": "Lower end of the 95 % t interval of held-out recovery (%).",
        "t95_high_percent": "Upper end of that interval (%).",
        "adapt_t95_low_percent": "Lower end of the 95 % t interval of recovery while adapting (%).",
        "adapt_t95_high_percent": "Upper end of that interval (%).",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = []
        for key, group in shared.groups(shared.selected(models), list(KEYS)):
            learning_rate = shared.one_rate(group, key, "selected")
            recovery = shared.measure(group, "recovery_heldout_percent")
            held_out = settings.mean(recovery)
            low, high = moments(recovery).interval()
            while_adapting = shared.measure(group, "recovery_adapt_percent")
            adapting = settings.mean(while_adapting)
            adapt_low, adapt_high = moments(while_adapting).interval()
            ratio = settings.mean(shared.measure(group, "update_ratio"))
            vs_rtrl = settings.mean(shared.measure(group, "recovery_vs_rtrl_percent"))
            rows.append(
                {
                    **key,
                    "learning_rate": learning_rate,
                    "edge": bool(group["edge"].any()),
                    "n_seeds": int(np.isfinite(recovery).sum()),
                    "n_diverged": int(group["diverged"].sum()),
                    "recovery_percent": held_out.estimate,
                    "low_percent": held_out.low,
                    "high_percent": held_out.high,
                    "adapt_recovery_percent": adapting.estimate,
                    "adapt_low_percent": adapting.low,
                    "adapt_high_percent": adapting.high,
                    "r2_mean": shared.finite_mean(shared.measure(group, "r2_mean")),
                    "r2_weighted": shared.finite_mean(shared.measure(group, "r2_weighted")),
                    "update_ratio": ratio.estimate,
                    "update_ratio_low": ratio.low,
                    "update_ratio_high": ratio.high,
                    "unreliable": bool(group["unreliable"].any()),
                    "recovery_vs_rtrl_percent": vs_rtrl.estimate,
                    "recovery_vs_rtrl_low_percent": vs_rtrl.low,
                    "recovery_vs_rtrl_high_percent": vs_rtrl.high,
                    "t95_low_percent": low,
                    "t95_high_percent": high,
                    "adapt_t95_low_percent": adapt_low,
                    "adapt_t95_high_percent": adapt_high,
                }
            )
        return pd.DataFrame(rows, columns=list(self.columns))
