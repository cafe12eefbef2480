"""Structure of the past gradient in networks other than the vanilla RNN."""

from __future__ import annotations

from typing import Any

import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import Means, Sheet
from orla.reports.panels import Shown, panels_beside
from orla.reports.paper import load
from orla.reports.pooled import notes_on_pairs, over_pairs
from orla.reports.study import StudyFacts
from orla.reports.table import Column, TableDocument
from orla.reports.tables.base import Table

_SHOWN = (
    Shown("top1_past"),
    Shown("top1_immediate"),
    Shown("top1_gap", signed=True, digits=3),
    Shown(shared.RECOVERY, "recovery_percent", digits=1, ending="_percent"),
)
_COLUMNS = [
    Column("Optimizer"),
    Column("n", "r"),
    Column("G_past", "r", "top1"),
    Column("G_imm", "r", "top1"),
    Column("gap", "r", "top1"),
    Column("Held-out recovery (%)", "r"),
]


class LSTMCrossArchitecture(
    Table,
    name="lstm_cross_architecture",
    label="Structure of the past gradient in other networks",
    chapter="mechanism",
    order=70,
    needs=("measured",),
    paper="lstm_structure",
):
    """Concentration of G_past and recovery of gated and linear networks under drift."""

    def build(self, measured: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        measured = over_pairs(measured)
        sheet, means = Sheet(study), Means(measured)
        rows = _papers_rows(self.part.more["paper"]) if len(measured) else []
        vanilla = paper_rows.papers_structure()[0]["architecture"]
        own = shared.drifting(shared.measured_at(measured, "top1_past"))
        own = own[own["learner"] == paper_rows.full_learner()]
        own = shared.kept(
            own, (paper_rows.own_kind(study, n) != vanilla for n in own["architecture"])
        )
        frame = paper_rows.beside(own, rows, study)
        full = study.called("learner", paper_rows.full_learner())
        panels = panels_beside(sheet, means, frame, rows, _SHOWN)
        return self.document(
            study,
            f"As the table of the vanilla network, under {full} and drift. {shared.CELLS}",
            columns=_COLUMNS,
            panels=panels,
            notes=[*notes_on_pairs(frame), shared.RULE],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _papers_rows(name: str) -> list[dict[str, Any]]:
    """The rows of the paper's table, and the one that its text adds of another network."""
    told = [row for row in load().table("text") if {"top1_past", "recovery_percent"} <= set(row)]
    learner = {"learner": paper_rows.full_learner(), "split": load().table(name)[0]["split"]}
    return load().table(name) + [row | learner for row in told]
