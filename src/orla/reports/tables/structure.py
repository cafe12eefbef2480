"""How the past gradient is built, under drift and without."""

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
    Shown("top1_gap", signed=True),
    Shown("whh_share", "whh_share_percent", digits=1, scale=shared.PERCENT),
    Shown("whh_share_null", digits=1, scale=shared.PERCENT, with_interval=False),
)
_COLUMNS = [
    Column("Optimizer"),
    Column("n", "r"),
    Column("G_past", "r", "top1"),
    Column("G_imm", "r", "top1"),
    Column("gap", "r", "top1"),
    Column("u_1", "r", "Share on W_hh (%)"),
    Column("null", "r", "Share on W_hh (%)"),
]


class Structure(
    Table,
    name="structure",
    label="Structure of the past gradient",
    chapter="mechanism",
    order=20,
    needs=("measured",),
    paper="structure",
):
    """Concentration of G_past and G_imm, and where the first direction of G_past lies.

    Networks of the kind that the paper measures here; the others have a table of their own.
    """

    def build(self, measured: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        measured = over_pairs(measured)
        sheet, means = Sheet(study), Means(measured)
        rows = papers_rows() if len(measured) else []
        kinds = {row["architecture"] for row in rows}
        own = shared.measured_at(measured, "top1_past")
        own = own[own["learner"] == paper_rows.full_learner()]
        own = shared.kept(
            own, (paper_rows.own_kind(study, n) in kinds for n in own["architecture"])
        )
        frame = paper_rows.beside(own, rows, study)
        full = study.called("learner", paper_rows.full_learner())
        panels = panels_beside(sheet, means, frame, rows, _SHOWN)
        null = next(row for row in load().table("text") if "parameters_whh" in row)
        return self.document(
            study,
            f"Past and immediate gradients of {full}, a column a window: G_past, G_imm. top1: "
            "largest singular value over the sum of all. Share on W_hh: squared norm there of u_1, "
            "the first left singular vector of G_past; null: numbers in W_hh over all, the share "
            f"of a random direction (the paper's: {null['whh_share_percent']:g}). {shared.CELLS}",
            columns=_COLUMNS,
            panels=panels,
            notes=[
                "g_past is exactly zero on the readout, because every learner's gradient of the "
                "readout is exact: the share of u_1 on W_out is 0 by construction, and the null "
                "among the numbers where g_past can lie is a little above that in the column.",
                *notes_on_pairs(frame),
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def papers_rows() -> list[dict[str, Any]]:
    """The rows of the paper's table, and the sine that its text adds."""
    rows = paper_rows.papers_structure()
    more = {"learner": paper_rows.full_learner(), "split": "shift"}
    told = [row for row in load().table("text") if {"top1_past", "whh_share_percent"} <= set(row)]
    return rows + [row | more for row in told]
