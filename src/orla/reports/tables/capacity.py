"""Gap between the full and the immediate gradient by network size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import Mean, Means, Sheet
from orla.reports.numbers import count
from orla.reports.panels import titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.keys import KEYS

# The paper's columns: a learner, and its recovery.
_SIDES = (
    ("learner_full", "recovery_full_percent"),
    ("learner_immediate", "recovery_immediate_percent"),
)
_COLUMNS = [
    Column("Network"),
    Column("h→h, paper", "r"),
    Column("n", "r"),
    Column("with past", "r", "Held-out recovery (%)"),
    Column("without past", "r", "Held-out recovery (%)"),
    Column("Gap (pp)", "r"),
]


class Capacity(
    Table,
    name="capacity",
    label="Gap by network and its size",
    chapter="mechanism",
    order=80,
    needs=("gaps", "measured"),
    paper="capacity",
):
    """Recoveries and the gap of the paper's two learners with its optimizer, a line a network."""

    def build(
        self, gaps: pd.DataFrame, measured: pd.DataFrame, *, study: StudyFacts
    ) -> TableDocument:
        sheet, means = Sheet(study), Means(measured)
        rows = load().table(self.part.more["paper"])
        first = rows[0]
        own = shared.plain(gaps)
        for column in ("learner_full", "learner_immediate", "optimizer"):
            own = own[own[column] == first[column]]
        # Several comparisons may be of the same two learners.
        by = [name for name in KEYS if name != "learner"]
        own = own.drop_duplicates(by)
        found = {
            tuple(row[name] for name in by): Mean(
                row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"],
                row["n_seeds"], row["n_diverged"],
            )
            for row in own.to_dict("records")
        }  # fmt: skip
        rows = rows if len(measured) else []
        frame = paper_rows.beside(own.assign(learner="")[list(KEYS)], rows, study)
        panels = []
        for title, conditions in titled(study, frame, shared.EPISODE):
            lines = [
                _line(sheet, means, keys, found.get(tuple(keys[name] for name in by)), row)
                for keys in conditions.to_dict("records")
                for row in [paper_rows.of_row(rows, keys["theirs"])]
            ]
            panels.append(Panel(title, lines))
        names = [study.called("learner", first[learner]) for learner, _ in _SIDES]
        return self.document(
            study,
            f"{study.called('optimizer', first['optimizer'])}: held-out recovery under {names[0]} "
            f"(with past) and {names[1]} (without), and their difference, paired by network. h→h: "
            f"numbers from state to state. {shared.CELLS}",
            columns=_COLUMNS,
            panels=panels,
            notes=[shared.RULE],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _line(
    sheet: Sheet,
    means: Means,
    keys: Mapping[str, Any],
    gap: Mean | None,
    row: Mapping[str, Any] | None,
) -> tuple[str, ...]:
    first = load().table("capacity")[0]
    cells = []
    for learner, recovery in _SIDES:
        at = {**keys, "learner": first[learner]}
        ours = means.of(at, shared.RECOVERY)
        paper = paper_rows.theirs(row, recovery)
        cells.append(sheet.cell(at, shared.RECOVERY, ours, paper, digits=1))
    paper = paper_rows.theirs(row, "gap_pp", "_pp")
    return (
        paper_rows.network_name(sheet.study, keys, row),
        count(row["recurrent_parameters"] if row else None),
        shared.seeds(gap),
        *cells,
        sheet.cell(keys, "gap_pp", gap, paper, digits=1, signed=True),
    )
