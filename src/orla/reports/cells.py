"""Cells of tables: what a column shows of a line, as declarations that any table can use."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orla.reports.comparison import RECOVERY, Beside, Mean, paper_value, same_size, seeds_text
from orla.reports.numbers import MISSING, count, estimate, number, or_default, sample_size
from orla.reports.study import HIDDEN, StudyFacts
from orla.reports.table import Column
from orla.reports.words import NOT_RUN

Row = Mapping[str, Any]


class Line(NamedTuple):
    """A line of a table: the study's names, and a row of a result or a condition with its means."""

    study: StudyFacts
    row: Row

    @property
    def paper(self) -> Row | None:
        return self.row["paper"]

    def mean(self, measure: str) -> Mean | None:
        """Our mean of a measure; None where the condition was not run or not measured."""
        recovery = self.row["means"].get(RECOVERY)
        diverges = recovery and not recovery.n and recovery.diverged
        return self.row["means"].get(measure, Mean(np.nan, diverged=diverges) if diverges else None)


class Cell(NamedTuple):
    """A column, what stands there of a line, and the numbers of it that have a row in the .csv."""

    column: Column
    text: Callable[[Line], str]
    numbers: Callable[[Line], Sequence[Beside]] = lambda line: ()


def cell(header: str, text: Callable[[Line], str], group: str = "", align: str = "r") -> Cell:
    """A column of any text."""
    return Cell(Column(header, align, group), text)


def part_name(kind: str, column: str = "", header: str = "") -> Cell:
    """The reader's name of a part; a dash where the line names none."""

    def text(line: Line) -> str:
        name = line.row[column or kind]
        return line.study.called(kind, name) if name else MISSING

    return cell(header or kind.capitalize(), text, align="l")


def network_name() -> Cell:
    """A network's name; that of a row of the paper alone with its units."""

    def text(line: Line) -> str:
        name, row = line.row["architecture"], line.paper
        has_other_size = row is not None and not same_size(line.study, name, row)
        hidden = f", hidden {row.get('hidden', HIDDEN)}" if has_other_size else ""
        return line.study.called("architecture", name) + hidden

    return cell("Network", text, align="l")


def value(
    header: str, column: str, write: Callable[..., str] = number, group: str = "", **how: Any
) -> Cell:
    """A column of the row, written by a function of `orla.reports.numbers`, such as `rate`."""
    align = how.pop("align", "r")
    return cell(header, lambda line: write(line.row[column], **how), group, align)


def with_interval(
    header: str, column: str, *ends: str, group: str = "", n: str = "n_seeds", **how: Any
) -> Cell:
    """A number and its interval, below it where `stacked`; "not run" where it was not.

    The columns of the interval's ends are by default COLUMN_low and COLUMN_high.
    """
    columns = (column, *(ends or (f"{column}_low", f"{column}_high")))
    stacked = how.pop("stacked", False)

    def text(line: Line) -> str:
        if not line.row.get("run", True):
            return NOT_RUN
        words = estimate(*(line.row[c] for c in columns), n=line.row.get(n), **how)
        return words.replace(" ", "\n") if stacked else words

    return cell(header, text, group)


def n_diverged(row: Row) -> int:
    """How many seeds diverged, as far as the row says."""
    return int(or_default(row.get("n_diverged"), 0))


def seeds_and_diverged() -> Cell:
    """The number of seeds, and how many of them diverged."""

    return cell("n", lambda x: sample_size(count(x.row["n_seeds"]), n_diverged(x.row)))


def beside(header: str, ours: str | Callable[[Line], Beside], group: str = "", **how: Any) -> Cell:
    """A column of our number over the paper's; `ours` is made of a line, or names its column."""

    make = (lambda line: line.row[ours]) if isinstance(ours, str) else ours
    column = Column(header, "r", group)
    return Cell(column, lambda line: make(line).text(**how), lambda line: [make(line)])


def mean_beside(
    header: str, measure: str, paper: str = "", *, scale: float = 1.0, ending: str = "", **how: Any
) -> Cell:
    """A condition's mean, times a scale, over the paper's number, which may have another name.

    Fields of the measure's name are filled in from the line. `ending`: see
    `orla.reports.comparison.paper_value`; `how`: group of the column, digits, signed.
    """

    def scaled_mean(line: Line) -> Beside:
        name = measure.format_map(line.row)
        mean = line.mean(name)
        if mean is not None:
            mean = Mean(*(scale * number for number in mean[:3]), *mean[3:])
        return Beside(line.row, name, mean, paper_value(line.paper, paper or name, ending))

    return beside(header, scaled_mean, **how)


def seed_count(*measures: str) -> Cell:
    """The seeds of the first of these means that there is."""
    return cell("n", lambda line: seeds_text(next(filter(None, map(line.mean, measures)), None)))
