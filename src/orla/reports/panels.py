"""Tables of means beside the paper's: panels of conditions, in the order that a reader wants."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pandas as pd

from orla.reports.cells import Cell, Line
from orla.reports.comparison import COMPARED, Sheet
from orla.reports.paper_rows import beside
from orla.reports.pooled import notes_on_pairs
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import without_blank
from orla.study.keys import DEFAULTS, KEYS

CELLS = (
    "First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the "
    "paper's number."
)
RULE = f"{COMPARED} Neither: not run, diverged, or a network of another size."
# What sets the panels of a table apart whose lines are networks.
EPISODE = ("task", "pair", "precision", "split")


class Panels(Table):
    """A table whose cells stand on a sheet, ours over the paper's number.

    A subclass gives `says`, its caption, and `panels`. A study that does not reproduce the paper
    shows it only where it is not `beside_paper`.
    """

    cells: ClassVar[Sequence[Cell]] = ()
    remarks: ClassVar[tuple[str, ...]] = ()
    beside_paper: ClassVar[bool] = True

    @abstractmethod
    def says(self, study: StudyFacts) -> str:
        """The caption."""

    @abstractmethod
    def panels(self, sheet: Sheet, *needed: pd.DataFrame) -> Iterable[Panel]:
        """The panels, their cells taken by `sheet`."""

    def columns(self, study: StudyFacts) -> list[Column]:
        """The columns; those of `cells`."""
        return [cell.column for cell in self.cells]

    def optional(self, column: Column) -> bool:
        """Whether a column is left out where no line has a number there."""
        return False

    def build(self, *needed: pd.DataFrame, study: StudyFacts) -> TableDocument:
        sheet = Sheet(study)
        panels = list(self.panels(sheet, *needed))
        pairs = notes_on_pairs(record["pair"] for record in sheet.records)
        return self.document(
            study,
            self.says(study),
            **without_blank(self.columns(study), panels, self.optional),
            notes=[*self.notes(panels), *pairs, *([RULE] if self.beside_paper else [])],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and (study.reproduces or not self.beside_paper),
        )

    def notes(self, panels: list[Panel]) -> Sequence[str]:
        """What is said under the table before the rule."""
        return self.remarks


class ByCondition(Panels):
    """A line a condition: the study's, with the paper's row of it, and those not run.

    A subclass gives the paper's `rows` and the study's `conditions`.
    """

    panel_by: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The paper's rows."""

    @abstractmethod
    def conditions(self, sheet: Sheet, *needed: pd.DataFrame) -> pd.DataFrame:
        """Key columns of the study's conditions; the sheet takes their means."""

    def panels(self, sheet: Sheet, *needed: pd.DataFrame) -> Iterator[Panel]:
        study, rows = sheet.study, self.rows() if len(needed[-1]) else []
        frame = beside(self.conditions(sheet, *needed), rows, study)
        if self.panel_by:
            groups = titled(study, frame, self.panel_by)
        else:
            groups = ran_first((title, group) for title, _, group in study.groups(frame))
        for title, group in groups:
            lines = (
                Line(study, keys, None if keys["paper_row"] < 0 else rows[keys["paper_row"]], sheet)
                for keys in group.to_dict("records")
            )
            yield Panel(title, [tuple(cell.text(line) for cell in self.cells) for line in lines])


def titled(
    study: StudyFacts,
    frame: pd.DataFrame,
    by: Sequence[str],
    blank: Mapping[str, Any] | None = None,
) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each value of some key columns, with a title; in the order of `ran_first`.

    Args:
        study: names of the study.
        frame: conditions.
        by: key columns.
        blank: a row of the paper, whose condition stands alone where there are no rows.
    """
    if frame.empty and blank is not None:
        frame = pd.DataFrame([{name: blank.get(name, "") for name in KEYS} | DEFAULTS])
    if frame.empty:
        return []
    groups = study.arrange(frame).groupby(list(by), sort=False)
    return ran_first(
        (", ".join(study.called(k, v) for k, v in zip(by, values, strict=True) if v != ""), rows)
        for values, rows in groups
    )


def ran_first(groups: Iterable[tuple[str, pd.DataFrame]]) -> list[tuple[str, pd.DataFrame]]:
    """Titles and rows: what the paper has too, what it has not, and last what was not run."""

    def place(group: tuple[str, pd.DataFrame]) -> tuple[bool, bool]:
        rows = group[1]
        lacks = "run" in rows and not rows["run"].any()
        return lacks, "paper_row" in rows and not (rows["paper_row"] >= 0).any()

    return sorted(groups, key=place)


def papers_first(study: StudyFacts, groups: Iterable[Any]) -> list[Any]:
    """Groups of `StudyFacts.groups`, those on the paper's recordings first."""
    papers = study.papers_task or next(iter(study.recordings), "")
    return sorted(groups, key=lambda group: group.keys["task"] != papers)
