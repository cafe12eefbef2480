"""Held-out recovery."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from orla.reports.estimates import NO_MEANING, OVER_SEEDS, guard_notes, has_meaning
from orla.reports.numbers import MISSING, count, estimate, is_missing, number, rate
from orla.reports.runs import runs
from orla.reports.study import StudyFacts, in_paper
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import (
    EDGE,
    FEW,
    FEW_UPDATES,
    NOT_RUN,
    PaperCell,
    is_true,
    lost_seeds,
    mark_notes,
    twin,
    with_paper_rows,
    without_paper,
)

_COLUMNS = [
    Column("Optimizer"),
    Column("Rate", "r"),
    Column("n", "r"),
    Column("Recovery (%)", "r", "Held-out"),
    Column("R²", "r", "Held-out"),
    Column("Recovery (%)", "r", "Adapt"),
    Column("Held-out", "r", "The paper"),
    Column("Rate", "r", "The paper"),
]


class Heldout(
    Table,
    name="heldout",
    label="Held-out recovery",
    chapter="drift",
    order=10,
    needs=("conditions", "heldout"),
    paper="recoveries",
):
    """Held-out recovery and R2 of every condition at its selected rate, ours and the paper's."""

    def build(
        self, conditions: pd.DataFrame, heldout: pd.DataFrame, *, study: StudyFacts
    ) -> TableDocument:
        candidates = [
            {"learner": learner, "optimizer": optimizer}
            for learner, optimizer in product(in_paper("learner"), in_paper("optimizer"))
        ]
        rows = with_paper_rows(_with_errors(conditions, heldout), study, candidates, _theirs)
        panels, records = [], []
        for title, _, group in study.groups(rows, "learner"):
            found = group.to_dict("records")
            panels.append(Panel(title + _updates(found), [_line(study, row) for row in found]))
            for row in found:
                records.append(row | _theirs(study, row).record("recovery_percent", with_rate=True))
        return self.document(
            study,
            "Recovery and R² on the held-out part (R²: mean over outputs), each condition at the "
            f"rate selected on its validation part. Brackets: {OVER_SEEDS}; n: seeds, and how many "
            "of them diverged (div.), which are left out of the mean. Adapt: recovery over the "
            "adapt part, while learning.",
            **without_paper(_COLUMNS, panels),
            notes=mark_notes(panels)
            + guard_notes([], panels)
            + [_errors(run) for run in runs(heldout, study)],
            data=twin(records, rows, study),
        )


def _with_errors(conditions: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The conditions with the errors of their networks (means over seeds) and their updates."""
    extra = {"frozen_heldout_error": "mean", "reference_error": "mean", "updates": "max"}
    keys = [c for c in conditions.columns if c in models and c in _KEYS]
    extra = {column: how for column, how in extra.items() if column not in conditions}
    found = models.groupby(keys, as_index=False)[list(extra)].agg(extra)
    return conditions.merge(found, how="left", on=keys)


_KEYS = {
    "task", "pair", "architecture", "learner", "optimizer",
    "precision", "split", "intervention", "start",
}  # fmt: skip


def _theirs(study: StudyFacts, row: Mapping[str, Any]) -> PaperCell:
    paper = study.paper(row)
    keys = ("learner", "optimizer", "precision", "split", "architecture")
    return PaperCell(paper.recovery(*(row[key] for key in keys)) if paper else None)


def _line(study: StudyFacts, row: dict) -> tuple[str, ...]:
    theirs = _theirs(study, row)
    optimizer, paper = study.called("optimizer", row["optimizer"]), (theirs.cell,)
    paper += (rate(theirs.learning_rate),)
    if not row["run"]:
        return (optimizer, MISSING, MISSING, NOT_RUN, MISSING, MISSING, *paper)
    lost = lost_seeds(row)
    recovery = estimate(
        row["recovery_percent"], row["t95_low_percent"], row["t95_high_percent"], n=row["n_seeds"]
    )
    if is_missing(row["recovery_percent"]) and lost:
        recovery = "diverged"
    elif not has_meaning(row):
        recovery = NO_MEANING
    return (
        optimizer,
        rate(row["learning_rate"]) + (EDGE if is_true(row, "edge") else ""),
        count(row["n_seeds"]) + (f" ({lost} div.)" if lost else ""),
        recovery,
        number(row["r2_mean"], 2),
        number(row["adapt_recovery_percent"]),
        *paper,
    )


def _updates(rows: list[dict]) -> str:
    found = [int(row["updates"]) for row in rows if not is_missing(row["updates"])]
    if not found:
        return ""
    return f" ({max(found):,} updates{FEW if max(found) < FEW_UPDATES else ''})"


def _errors(run: Any) -> str:
    steps = f", {run.steps:,} steps adapted to" if run.steps else ""
    return (
        f"{run.title}: held-out MSE {number(run.frozen_error, 2)} frozen, "
        f"{number(run.reference_error, 2)} reference{steps}."
    )
