"""Update-magnitude ratio and gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, count, estimate, number
from orla.reports.paper import Number
from orla.reports.study import StudyFacts, in_paper
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    NOT_RUN,
    PaperCell,
    mark_notes,
    paper_gap,
    twin,
    with_paper_rows,
    without_paper,
)

_COLUMNS = [
    Column("Optimizer"),
    Column("ours", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
    Column("paper", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
    Column("ours", "r", "Gap (pp)"),
    Column("paper", "r", "Gap (pp)"),
    Column("n", "r"),
]


class RatioGap(
    Table,
    name="ratio_gap",
    label="Update-magnitude ratio and gap",
    chapter="ratio",
    order=10,
    needs=("ratio_gap", "ratio_gap_order"),
    paper="ratio_gap",
):
    """Update-magnitude ratio and gap by optimizer, ours and the paper's."""

    def build(
        self, ratios: pd.DataFrame, order: pd.DataFrame, *, study: StudyFacts
    ) -> TableDocument:
        candidates = [{"optimizer": optimizer} for optimizer in in_paper("optimizer")]
        shown = with_paper_rows(ratios, study, candidates, _theirs_gap)
        panels, records = [], []
        for title, _, rows in study.groups(shown):
            found = rows.to_dict("records")
            panels.append(Panel(title, [_line(study, row) for row in found]))
            records += [_record(study, row) for row in found]
        notes = [_order_note(study, row, order) for row in order.to_dict("records")]
        if any(record["paper_update_ratio"] is not None for record in records):
            notes.append(
                "The paper's ratios, and its gaps at 80/20 beside float64, are those of its "
                "Table 3."
            )
        return self.document(
            study,
            "Mean over updates of ‖ΔW_hh‖/‖ΔW_out‖ under the comparison's first learner, and the "
            f"held-out recovery gap of {study.words(study.main)}, each at its best rate. "
            f"Brackets: {BOOTSTRAP}; n: seeds.",
            **without_paper(_COLUMNS, panels),
            notes=notes + mark_notes(panels),
            data=twin(records, shown, study),
        )


def _paper_row(study: StudyFacts, row: Mapping[str, Any]) -> dict | None:
    """The row of the paper's ratio table, which is of one condition only."""
    paper = study.paper(row, study.main)
    theirs = paper.ratio_gap(row["optimizer"]) if paper else None
    same = ("architecture", "precision", "split")
    return theirs if theirs and all(row[key] == theirs[key] for key in same) else None


def _theirs_gap(study: StudyFacts, row: Mapping[str, Any]) -> PaperCell:
    theirs = _paper_row(study, row)
    if theirs is None:
        return paper_gap(study, row)
    gap = Number(
        theirs["gap_pp"],
        theirs.get("gap_text"),
        None,
        None,
        None,
        theirs["configuration"],
        theirs["place"],
    )
    return PaperCell(gap, digits=0, signed=True)


def _line(study: StudyFacts, row: dict) -> tuple[str, ...]:
    theirs, gap = _paper_row(study, row), _theirs_gap(study, row).cell
    optimizer = study.called("optimizer", row["optimizer"])
    ratio = number(theirs["update_ratio"] if theirs else None, 2)
    if not row["run"]:
        return optimizer, NOT_RUN, ratio, NOT_RUN, gap, MISSING
    n = row["n_seeds"]
    ends = row["update_ratio_low"], row["update_ratio_high"]
    return (
        optimizer,
        estimate(row["update_ratio"], *ends, digits=2, n=n),
        ratio,
        estimate(row["gap_pp"], row["low_pp"], row["high_pp"], signed=True, n=n),
        gap,
        count(n),
    )


def _record(study: StudyFacts, row: dict) -> dict:
    theirs = _paper_row(study, row)
    ratio = {"paper_update_ratio": theirs["update_ratio"] if theirs else None}
    return row | ratio | _theirs_gap(study, row).record("gap_pp")


def _order_note(study: StudyFacts, row: dict, order: pd.DataFrame) -> str:
    rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
    theirs = "; the paper's four are in one order" if study.paper(row, study.main) else ""
    return (
        f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
        f"{study.title_of(row, order)}: {rank} (95 % bootstrap interval over "
        f"{count(row['n_seeds'])} seeds of one pair{theirs})."
    )
