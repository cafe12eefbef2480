"""One row a condition and measure: what the probes and scores say of it, over seeds."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla import catalogue
from orla.results import shared
from orla.results.base import Settings, Statistic
from orla.statistics.means import moments
from orla.study.declared import declared
from orla.study.keys import KEYS

SCORES = (
    "heldout_error",
    "recovery_heldout_percent",
    "recovery_stable_percent",
    "adapt_error",
)
"""Scores of every condition, which stand beside the columns of the probes."""


class Measured(Statistic, name="measured"):
    """Means over seeds at the selected rate, of every column that a probe adds and of the scores.

    A measure that no seed of a condition has is left out, but for a score, so that a condition in
    which every model diverged stands in the table.
    """

    columns = KEYS | {
        "measure": "Column of the table of models.",
        "mean": "Mean over seeds, in the measure's own unit.",
        "sd": "Standard deviation over seeds (divisor n - 1).",
        "n_seeds": "Seeds with a finite value.",
        "n_diverged": "Seeds that diverged.",
        "t95_low": "Lower end of the 95 % t interval of the mean.",
        "t95_high": "Upper end of that interval.",
        "t90_low": "Lower end of the 90 % t interval of the mean.",
        "t90_high": "Upper end of that interval.",
    }

    def table(self, models: pd.DataFrame, *, settings: Settings) -> pd.DataFrame:
        known = [name for name in measures() if name in models]
        rows = []
        for key, group in shared.groups(shared.selected(models), list(KEYS)):
            shared.one_rate(group, key, "selected")
            lost = int(group["diverged"].sum())
            for name in known:
                found = moments(shared.measure(group, name))
                if not found.n and name not in SCORES:
                    continue
                row = {"measure": name, "mean": found.mean, "sd": found.sd}
                row |= {"n_seeds": found.n, "n_diverged": lost}
                for percent in (95, 90):
                    ends = found.interval(percent / 100)
                    names = f"t{percent}_low", f"t{percent}_high"
                    row |= dict(zip(names, ends, strict=True))
                rows.append(key | row)
        return pd.DataFrame(rows, columns=list(self.columns))


def measures() -> list[str]:
    """Every score, and every column that a probe declares, once each."""
    probes: Mapping[str, Mapping[str, Any]] = declared(catalogue.plugin_folders())["probe"]
    columns = (name for probe in probes.values() for name in probe["more"].get("columns", ()))
    return list(dict.fromkeys([*SCORES, *columns]))
