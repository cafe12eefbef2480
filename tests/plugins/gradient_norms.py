"""One row a condition: gradient norms and absolute errors at its selected rate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.study.keys import KEYS


class GradientNorms(Statistic, name="gradient_norms", needs=("models",)):
    """Means over seeds of what the probe gradient_norm and the loss huber measure."""

    columns = KEYS | {
        "n_seeds": "Seeds with a finite norm.",
        "gradient_norm": "Mean norm of what the optimizer was given.",
        "low": "Lower end of its interval.",
        "high": "Upper end of its interval.",
        "learned_norm": "Mean norm of what the learner answered.",
        "absolute_error": "Mean absolute error on the held-out part (SD of the target).",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        rows = []
        for key, group in shared.groups(shared.selected(models), list(KEYS)):
            norms = shared.measure(group, "gradient_norm")
            mean = settings.mean(norms)
            row = {
                "n_seeds": int(np.isfinite(norms).sum()),
                "gradient_norm": mean.estimate,
                "low": mean.low,
                "high": mean.high,
            }
            for name in ("learned_norm", "absolute_error"):
                row[name] = shared.finite_mean(shared.measure(group, name))
            rows.append(key | row)
        return pd.DataFrame(rows, columns=list(self.columns))
