"""Panels of tables of the past gradient: a condition each, in the order that a reader wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.measured import Means, Sheet, seeds
from orla.reports.paper_rows import of_row, theirs
from orla.reports.study import StudyFacts
from orla.reports.table import Panel


class Shown(NamedTuple):
    """A column of `panels_beside`: our measure, the paper's name of it, and how it is written."""

    measure: str
    paper: str = ""
    digits: int = 2
    signed: bool = False
    scale: float = 1.0
    ending: str = ""
    with_interval: bool = True


def panels_beside(
    sheet: Sheet,
    means: Means,
    frame: pd.DataFrame,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Shown],
) -> list[Panel]:
    """A panel a condition, a line an optimizer: its name, seeds, and a cell a column.

    Args:
        sheet: takes the cells.
        means: our numbers.
        frame: conditions with the place of the paper's row, as `beside` gives them.
        rows: those of the paper.
        columns: what is shown; the seeds are those of the first.
    """
    panels = []
    for title, conditions in ran_first((t, rows) for t, _, rows in sheet.study.groups(frame)):
        lines = []
        for keys in conditions.to_dict("records"):
            paper = of_row(rows, keys["theirs"])
            cells = [_cell(sheet, means, keys, paper, column) for column in columns]
            name = sheet.study.called("optimizer", keys["optimizer"])
            lines.append((name, seeds(means.of(keys, columns[0].measure)), *cells))
        panels.append(Panel(title, lines))
    return panels


def _cell(
    sheet: Sheet,
    means: Means,
    keys: Mapping[str, Any],
    paper: Mapping[str, Any] | None,
    column: Shown,
) -> str:
    ours = means.of(keys, column.measure)
    if ours is not None and not column.with_interval:
        ours = ours._replace(low=np.nan, high=np.nan)
    return sheet.cell(
        keys,
        column.measure,
        ours,
        theirs(paper, column.paper or column.measure, column.ending),
        digits=column.digits,
        signed=column.signed,
        scale=column.scale,
    )


def titled(
    study: StudyFacts, frame: pd.DataFrame, by: Sequence[str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each value of some key columns, in declared order, with a title.

    They come as `ran_first` has them.
    """
    if frame.empty:
        return
    found = []
    for values, rows in study.arrange(frame).groupby(list(by), sort=False):
        keys = dict(zip(by, values, strict=True))
        found.append((", ".join(study.called(k, v) for k, v in keys.items() if v != ""), rows))
    yield from ran_first(found)


def ran_first(
    groups: Iterable[tuple[str, pd.DataFrame]],
) -> list[tuple[str, pd.DataFrame]]:
    """Titles and rows: what the paper has too, what it has not, and last what was not run."""

    def place(one: tuple[str, pd.DataFrame]) -> tuple[bool, bool]:
        rows = one[1]
        lacks = "run" in rows and not rows["run"].any()
        return lacks, "theirs" in rows and not (rows["theirs"] >= 0).any()

    return sorted(groups, key=place)


def papers_first(study: StudyFacts, groups: Iterable[Any]) -> list[Any]:
    """Groups of `StudyFacts.groups`, those on the paper's recordings first."""
    papers = study.papers_task or next(iter(study.recordings), "")
    return sorted(groups, key=lambda group: group.keys["task"] != papers)
