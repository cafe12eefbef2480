"""Cells of tables: what a column shows of a line, as declarations that any table can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from orla.reports.comparison import Mean, Sheet, printed, seeds
from orla.reports.numbers import MISSING, count, estimate, number
from orla.reports.paper_rows import network_name
from orla.reports.study import StudyFacts
from orla.reports.table import Column
from orla.reports.tables.shared import NOT_RUN, lost_seeds


class Line(NamedTuple):
    """A line of a table.

    Attributes:
        study: names and instances of the study.
        row: a row of a result, or the key columns of a condition.
        paper: the paper's row beside it, None where it has none.
        sheet: our means, and the rows of the .csv twin; of tables that have such.
    """

    study: StudyFacts
    row: Mapping[str, Any]
    paper: Mapping[str, Any] | None = None
    sheet: Sheet | None = None

    def mean(self, measure: str) -> Mean | None:
        """Ours of this condition; None where it was not run."""
        return self.sheet.mean(self.row, measure)


class Cell(NamedTuple):
    """A column, and what stands there of a line."""

    column: Column
    text: Callable[[Line], str]


def cell(header: str, text: Callable[[Line], str], group: str = "", align: str = "r") -> Cell:
    """A column of any text."""
    return Cell(Column(header, align, group), text)


def called(kind: str, column: str = "") -> Cell:
    """The reader's name of a part; a dash where the line names none."""

    def text(line: Line) -> str:
        name = line.row[column or kind]
        return line.study.called(kind, name) if name else MISSING

    return cell(kind.capitalize(), text, align="l")


def network() -> Cell:
    """A network's name; that of a row of the paper alone with its units."""
    return cell(
        "Network",
        lambda line: network_name(line.study, line.row["architecture"], line.paper),
        "",
        "l",
    )


def value(
    header: str,
    column: str,
    write: Callable[..., str] = number,
    group: str = "",
    align: str = "r",
    **how: Any,
) -> Cell:
    """A column of the line's row, written by a function of `orla.reports.numbers`, such as `rate`.

    ``how`` are arguments of `write`, such as digits.
    """
    return cell(header, lambda line: write(line.row[column], **how), group, align)


def ends(header: str, *columns: str, group: str = "", n: str = "n_seeds", **how: Any) -> Cell:
    """A number with its interval, which one seed has not; "not run" where it was not.

    Args:
        header, group: of the column.
        *columns: of the row: the number, the interval's lower and its upper end.
        n: the column with the number of seeds.
        **how: digits, signed.
    """

    def text(line: Line) -> str:
        if not line.row.get("run", True):
            return NOT_RUN
        return estimate(*(line.row[c] for c in columns), n=line.row.get(n), **how)

    return cell(header, text, group)


def counted() -> Cell:
    """The number of seeds, and how many of them diverged."""

    def text(line: Line) -> str:
        lost = lost_seeds(line.row)
        return count(line.row["n_seeds"]) + (f" ({lost} div.)" if lost else "")

    return cell("n", text)


def mean(
    header: str,
    measure: str,
    paper: str = "",
    *,
    group: str = "",
    scale: float = 1.0,
    ending: str = "",
    with_interval: bool = True,
    **how: Any,
) -> Cell:
    """Ours over the paper's number, with what the rule says of both.

    Args:
        header, group: of the column.
        measure: our measure.
        paper: what the paper calls it, where that is another name.
        scale: what ours is multiplied by, as the paper's is in per cent.
        ending: see `orla.reports.comparison.printed`.
        with_interval: whether ours has one.
        **how: digits, signed.
    """

    def text(line: Line) -> str:
        ours = line.mean(measure)
        if ours is not None:
            ours = ours.times(scale)
            ours = ours if with_interval else ours._replace(low=np.nan, high=np.nan)
        there = printed(line.paper, paper or measure, ending)
        return line.sheet.cell(line.row, measure, ours, there, **how)

    return cell(header, text, group)


def mean_seeds(measure: str) -> Cell:
    """The seeds of one of our means."""
    return cell("n", lambda line: seeds(line.mean(measure)))
