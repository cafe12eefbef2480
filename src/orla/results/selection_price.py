"""One row a condition: what selecting the rate on the held-out part adds to its recovery."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.study.keys import KEYS

_CHOICES = ["selected", "selected_on_test"]


class SelectionPrice(Statistic, name="selection_price"):
    """Recovery at the rate chosen on the held-out part minus at the one chosen on validation.

    Source: docs/protocol.md, Choice of the learning rate; the paper states both ways of selecting.
    """

    columns = KEYS | {
        "recovery_validation_selected_percent": "Mean recovery, rate chosen on validation (%).",
        "recovery_test_selected_percent": "Mean recovery, rate chosen on the held-out part (%).",
        "price_pp": "Mean over seeds of the second minus the first (pp).",
        "low_pp": "Lower end of its interval (pp).",
        "high_pp": "Upper end of its interval (pp).",
        "learning_rate": "Rate chosen on validation.",
        "learning_rate_test": "Rate chosen on the held-out part.",
        "n_seeds": "Seeds that are finite at both rates.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        shared.demand(models)
        of_models = ["seed", "learning_rate", "recovery_heldout_percent", *_CHOICES]
        rows = []
        for key, group in shared.groups(models[[*KEYS, *of_models]], list(KEYS)):
            chosen = group[group["selected"].astype(bool)]
            on_test = group[group["selected_on_test"].astype(bool)]
            if chosen.empty or on_test.empty:
                continue
            rate = shared.one_rate(chosen, key, "selected")
            rate_test = shared.one_rate(on_test, key, "selected_on_test")
            twice = shared.by_seed(chosen, key), shared.by_seed(on_test, key)
            both = shared.joined_by_seed(*twice, ("", "_test"))
            recovery = both["recovery_heldout_percent"].to_numpy(float)
            recovery_test = both["recovery_heldout_percent_test"].to_numpy(float)
            finite = np.isfinite(recovery) & np.isfinite(recovery_test)
            price = settings.mean(np.where(finite, recovery_test - recovery, np.nan))
            rows.append(
                {
                    **key,
                    "recovery_validation_selected_percent": shared.finite_mean(recovery[finite]),
                    "recovery_test_selected_percent": shared.finite_mean(recovery_test[finite]),
                    "price_pp": price.estimate,
                    "low_pp": price.low,
                    "high_pp": price.high,
                    "learning_rate": rate,
                    "learning_rate_test": rate_test,
                    "n_seeds": int(finite.sum()),
                }
            )
        return pd.DataFrame(rows, columns=list(self.columns))
