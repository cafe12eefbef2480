"""Tables of a result: a panel a condition, a line a row, as declarations of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from orla.reports.cells import Cell, Line
from orla.reports.estimates import estimands
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import mark_notes, twin, without_blank

Row = Mapping[str, Any]


class Contents(NamedTuple):
    """What a table shows: the rows it is of, its panels, and the rows of the .csv twin."""

    rows: pd.DataFrame
    panels: list[Panel]
    records: list[dict[str, Any]]


class Rows(Table):
    """A table of a result. A subclass gives `says` and `cells`, and what else is not usual.

    Attributes:
        says: the caption.
        papers: what the caption adds in a study that reproduces the paper.
        cells: the columns.
        by: what sets panels apart beside the condition, such as learner.
        layout: further fields of the document.
        empty: whether a study without any line shows the table.
        sums_up: whether its lines are no rows of the result, but made from several.
    """

    says: ClassVar[str] = ""
    papers: ClassVar[str] = ""
    cells: ClassVar[Sequence[Cell]] = ()
    by: ClassVar[tuple[str, ...]] = ()
    layout: ClassVar[Mapping[str, Any]] = {}
    empty: ClassVar[bool] = True
    sums_up: ClassVar[bool] = False

    def rows(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The rows to show, of the results that the table needs."""
        return needed[0]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        """A title and its rows for each panel."""
        for title, _, group in study.groups(rows, *self.by):
            yield title, group.to_dict("records")

    def lines(self, rows: list[Row]) -> list[Row]:
        """A panel's lines, by default a row each."""
        return rows

    def record(self, row: Row, study: StudyFacts) -> Row:
        """A row of the .csv twin."""
        return row

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        """The columns, where they depend on the rows."""
        return self.cells

    def optional(self, column: Column) -> bool:
        """Whether a column is left out where no line has a number there."""
        return False

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        """The caption, where it depends on the rows."""
        return self.says + (self.papers if study.reproduces else "")

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        """What stands under the table."""
        return mark_notes(contents.panels)

    def build(self, *needed: pd.DataFrame, study: StudyFacts) -> TableDocument:
        rows = self.rows(*needed, study=study)
        cells = self.columns(rows, study)
        contents = Contents(rows, [], [])
        for title, group in self.panels(rows, study):
            lines = (Line(study, row) for row in self.lines(group))
            panel = Panel(title, [tuple(cell.text(line) for cell in cells) for line in lines])
            contents.panels.append(panel)
            contents.records.extend(self.record(row, study) for row in group)
        return self.document(
            study,
            self.caption(rows, study),
            **without_blank([cell.column for cell in cells], contents.panels, self.optional),
            notes=self.notes(contents, study, *needed),
            data=twin(contents.records, rows.iloc[:0] if self.sums_up else rows, study),
            ran=self.empty or bool(contents.panels),
            **self.layout | {"kept": min(self.layout.get("kept", 1), len(cells))},
        )


def by_estimand(
    rows: pd.DataFrame, study: StudyFacts, *more: str
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Each condition's rows of each estimand, as (estimand, title, rows)."""
    for estimand in estimands(rows):
        for title, _, group in study.groups(rows[rows["estimand"] == estimand], *more):
            yield estimand, title, group


def by_comparison(rows: list[Row]) -> list[Row]:
    """A line an optimizer: its rows by comparison, under "cells"."""
    lines: dict[str, dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(row["optimizer"], {})[row["comparison"]] = row
    return [{"optimizer": name, "cells": cells} for name, cells in lines.items()]
