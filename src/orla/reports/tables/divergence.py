"""At which rates, and how soon, models diverge."""

from __future__ import annotations

from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, count, number, rate
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin

_PAPER = (
    " The paper's RWKV on chaotic dynamics (Appendix R): with Adam and RMSprop every seed "
    "diverges, with Adam within 17 steps; with SGD every seed survives."
)


class Divergence(
    Table,
    name="divergence",
    label="Where models diverge",
    chapter="rates",
    order=20,
    needs=("lr_curves",),
):
    """Of every rate that was tried, not of the selected one: a row an optimizer.

    Only networks, tasks and learners of which some model diverged.
    """

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        for title, keys, rows in study.groups(models, "learner"):
            if not rows["diverged"].any():
                continue
            found = [
                {**keys, "optimizer": optimizer, **_summed_up(own)}
                for optimizer, own in study.arrange(rows).groupby("optimizer", sort=False)
            ]
            panels.append(Panel(title, [_line(study, row) for row in found]))
            records += found
        return self.document(
            study,
            "Models that diverged at any rate that was tried: their error was no number or above "
            "a million. First: the step at which the first of them diverged, and the median step. "
            "Safe: the largest rate up to which every model survived. Conditions without a "
            "diverged model are left out." + (_PAPER if study.reproduces else ""),
            columns=[
                Column("Optimizer"),
                Column("Rates tried", "r"),
                Column("Models", "r"),
                Column("Diverged", "r"),
                Column("First", "r", "Step"),
                Column("Median", "r", "Step"),
                Column("Safe up to", "r"),
            ],
            panels=panels,
            data=twin(records, models.iloc[:0], study),
            ran=bool(panels),
        )


def _summed_up(rows: pd.DataFrame) -> dict[str, Any]:
    lost = rows["diverged"].astype(bool)
    steps = rows.loc[lost, "diverged_step"]
    by_rate = lost.groupby(rows["learning_rate"]).any().sort_index()
    safe = by_rate.index[~by_rate.cummax()]
    return {
        "rates": len(by_rate),
        "lowest_rate": float(by_rate.index[0]),
        "highest_rate": float(by_rate.index[-1]),
        "n_models": len(rows),
        "n_diverged": int(lost.sum()),
        "first_step": float(steps.min()) if len(steps) else float("nan"),
        "median_step": float(steps.median()) if len(steps) else float("nan"),
        "safe_rate": float(safe[-1]) if len(safe) else float("nan"),
    }


def _line(study: StudyFacts, row: dict[str, Any]) -> tuple[str, ...]:
    tried = f"{rate(row['lowest_rate'])} to {rate(row['highest_rate'])}"
    return (
        study.called("optimizer", row["optimizer"]),
        tried,
        count(row["n_models"]),
        f"{number(100 * row['n_diverged'] / row['n_models'], 0)} %",
        _step(row["first_step"]),
        _step(row["median_step"]),
        MISSING if pd.isna(row["safe_rate"]) else rate(row["safe_rate"]),
    )


def _step(step: float) -> str:
    return MISSING if pd.isna(step) else count(int(step))
