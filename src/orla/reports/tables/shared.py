"""What the tables share: cells with the paper's numbers, panels, marks, the .csv twin."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from orla.reports import words
from orla.reports.numbers import MISSING, interval, is_missing, number
from orla.reports.paper import Number, Paper
from orla.reports.table import Panel

BOOTSTRAP = "95 % percentile bootstrap interval over seeds"
EDGE = "*"
UNRELIABLE = "‡"
_CONFIGURATION_MARKS = {"pilot-f32": "ᵖ", "kaggle-f64": "ᵏ"}
_MARK_NOTES = {
    EDGE: "* the best rate lies on the grid's edge.",
    UNRELIABLE: "‡ unreliable: frozen minus reference MSE is under 0.05.",
    "ᵖ": (
        "ᵖ the paper's float32 pilot: rate chosen on the held-out part, full RTRL with a "
        "window of 50."
    ),
    "ᵏ": "ᵏ the paper's float64 run on Kaggle's CPU (the others: its local CPU).",
}
_PANEL = ["architecture", "precision", "split"]


class PaperCell:
    """A number of the paper as a cell, with the mark of the run it comes from."""

    def __init__(self, theirs: Number | None, digits: int = 1, signed: bool = False):
        self._theirs = theirs
        self._digits = digits
        self._signed = signed

    @property
    def learning_rate(self) -> float | None:
        """The rate that the paper calls best."""
        return self._theirs.learning_rate if self._theirs else None

    @property
    def _mark(self) -> str:
        return _CONFIGURATION_MARKS.get(self._theirs.configuration, "") if self._theirs else ""

    @property
    def cell(self) -> str:
        """The paper's number or words in one line."""
        if self._theirs is None:
            return MISSING
        figure = self._theirs.text or number(self._theirs.value, self._digits, self._signed)
        return figure + self._mark

    @property
    def two_lines(self) -> str:
        """The number over its interval, or the words in two lines."""
        if self._theirs is None:
            return MISSING
        if self._theirs.text:
            return self._theirs.text.replace(" ", "\n", 1) + self._mark
        ends = interval(self._theirs.low, self._theirs.high)
        return f"{self.cell}\n{ends}".rstrip("\n")

    def record(self, name: str, with_rate: bool = False) -> dict:
        """The paper's number, its interval and place, as columns of the .csv twin."""
        theirs = self._theirs
        record = {
            f"paper_{name}": theirs.value if theirs else None,
            "paper_text": theirs.text if theirs else None,
            "paper_low": theirs.low if theirs else None,
            "paper_high": theirs.high if theirs else None,
            "paper_configuration": theirs.configuration if theirs else None,
            "paper_place": theirs.place if theirs else None,
        }
        if with_rate:
            record["paper_learning_rate"] = theirs.learning_rate if theirs else None
        return record


def paper_gap(paper: Paper, row: dict) -> PaperCell:
    """The paper's gap for a row's condition, signed."""
    theirs = paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    return PaperCell(theirs, signed=True)


def panels_of(frame: pd.DataFrame, *more: str) -> Iterable[tuple[str, list[dict]]]:
    """Rows grouped by architecture, precision, split and ``more``, each group with its title."""
    if frame.empty:
        return
    ordered = words.arrange(frame)
    for _, rows in ordered.groupby([*_PANEL, *more], sort=False):
        first = rows.iloc[0]
        titles = [words.condition(first), *(words.name(kind, first[kind]) for kind in more)]
        yield ": ".join(titles), records_of(rows)


def records_of(frame: pd.DataFrame) -> list[dict]:
    """The rows as dicts."""
    return frame.to_dict("records")


def is_true(row: dict, column: str) -> bool:
    """Whether a flag is set; a missing one is not."""
    value = row.get(column, False)
    return not is_missing(value) and bool(value)


def lost_seeds(row: dict) -> int:
    """How many seeds diverged, as far as the row says."""
    value = row.get("n_diverged", 0)
    return 0 if is_missing(value) else int(value)


def mark_notes(panels: list[Panel]) -> list[str]:
    """What the marks that occur in these cells mean."""
    cells = "".join(cell for panel in panels for row in panel.rows for cell in row)
    return [note for mark, note in _MARK_NOTES.items() if mark in cells]


def twin(records: list[dict], frame: pd.DataFrame, dataset: dict) -> pd.DataFrame:
    """The .csv twin: unrounded rows and the dataset; ``frame`` serves where there are no rows."""
    data = pd.DataFrame.from_records(records) if records else frame.copy()
    data.insert(0, "simulated", bool(dataset.get("simulated")))
    data.insert(0, "dataset", dataset.get("name", ""))
    return data
