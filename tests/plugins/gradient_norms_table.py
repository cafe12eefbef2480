"""Gradient norms, by condition."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import count, estimate, number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import BOOTSTRAP, twin


class GradientNormsTable(
    Table,
    name="gradient_norms",
    label="Norms of the gradients",
    chapter="gradients",
    order=10,
    needs=("gradient_norms",),
):
    """A panel a condition, a row a learner and optimizer."""

    def build(self, norms: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        for title, _, rows in study.groups(norms):
            found = rows.to_dict("records")
            panels.append(Panel(title, [_line(study, row) for row in found]))
            records += found
        return self.document(
            study,
            "Mean norm of the gradient over updates: as the learner answered it, and as the "
            f"optimizer was given it. Brackets: {BOOTSTRAP}; n: seeds.",
            columns=[
                Column("Learner"),
                Column("Optimizer"),
                Column("Learner's norm", "r"),
                Column("Optimizer's norm", "r"),
                Column("Absolute error", "r"),
                Column("n", "r"),
            ],
            panels=panels,
            data=twin(records, norms, study),
        )


def _line(study: StudyFacts, row: dict) -> tuple[str, ...]:
    return (
        study.called("learner", row["learner"]),
        study.called("optimizer", row["optimizer"]),
        number(row["learned_norm"], 3),
        estimate(row["gradient_norm"], row["low"], row["high"], n=row["n_seeds"], digits=3),
        number(row["absolute_error"], 3),
        count(row["n_seeds"]),
    )
