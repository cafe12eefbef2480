"""Functions of all tables: cells with the paper's numbers, panels, marks, the .csv twin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, interval, is_missing, number
from orla.reports.paper import Number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.study.keys import DEFAULTS

BOOTSTRAP = "95 % percentile bootstrap interval over seeds of one pair"
NOT_RUN = "not run"
EDGE = "*"
FEW = "§"
FEW_UPDATES = 20
_CONFIGURATION_MARKS = {"pilot-f32": "ᵖ", "kaggle-f64": "ᵏ"}
_MARK_NOTES = {
    EDGE: "* the best rate lies on the grid's edge.",
    FEW: f"§ fewer than {FEW_UPDATES} updates: too few to tell learners apart.",
    "ᵖ": (
        "ᵖ the paper's float32 pilot: rate chosen on the held-out part, full RTRL with a "
        "window of 50."
    ),
    "ᵏ": "ᵏ the paper's float64 run on Kaggle's CPU (the others: its local CPU).",
}


class PaperCell:
    """A number of the paper as a cell, with the mark of the run it comes from."""

    def __init__(self, theirs: Number | None, digits: int = 1, signed: bool = False):
        self._theirs = theirs
        self._digits = digits
        self._signed = signed

    @property
    def found(self) -> bool:
        """Whether the paper has a number here."""
        return self._theirs is not None

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


def paper_gap(study: StudyFacts, row: Mapping[str, Any]) -> PaperCell:
    """The paper's gap for a row's condition, signed; a dash where its numbers do not apply."""
    paper = study.paper(row, study.main)
    if paper is None:
        return PaperCell(None)
    theirs = paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    return PaperCell(theirs, signed=True)


def with_paper_rows(
    frame: pd.DataFrame,
    study: StudyFacts,
    candidates: Iterable[Mapping[str, str]],
    cell: Callable[[StudyFacts, Mapping[str, Any]], PaperCell],
) -> pd.DataFrame:
    """The results, and a row with ``run`` False for each condition of the paper that was not run.

    These are conditions of the study's own networks, precisions and splits; all their columns but
    the keys are missing.

    Args:
        frame: results with key columns.
        study: names, comparisons and data of the study.
        candidates: what the paper has in its rows: learner, optimizer, comparison.
        cell: the paper's number for a row's keys.
    """
    own = frame.assign(run=True)
    rows = [
        keys | dict(more)
        for keys in _crossed(frame)
        for more in candidates
        if cell(study, keys | dict(more)).found
    ]
    if not rows:
        return own
    wanted = pd.DataFrame(rows).drop_duplicates()
    by = list(wanted.columns)
    missing = wanted.merge(frame[by].drop_duplicates(), how="left", on=by, indicator="found")
    missing = missing[missing["found"] == "left_only"].drop(columns="found")
    # Whole numbers and flags stay what they are beside rows that have none.
    exact = own.select_dtypes(["integer", "bool"])
    own = own.astype({column: exact[column].convert_dtypes().dtype for column in exact})
    return pd.concat([own, missing.assign(run=False).astype({"run": "boolean"})], ignore_index=True)


def _crossed(frame: pd.DataFrame) -> Iterator[dict[str, str]]:
    """Keys of every network, precision and split of the frame, for each pair of its tasks."""
    kinds = ("architecture", "precision", "split")
    for task, pair in frame[["task", "pair"]].drop_duplicates().itertuples(index=False):
        for values in product(*(frame[kind].unique() for kind in kinds)):
            yield {"task": task, "pair": pair, **dict(zip(kinds, values, strict=True)), **DEFAULTS}


def without_paper(
    columns: list[Column], panels: list[Panel]
) -> dict[str, list[Column] | list[Panel]]:
    """Columns and panels of a table, less the paper's columns where no row has its numbers."""
    theirs = {i for i, c in enumerate(columns) if c.header == "paper" or c.group == "The paper"}
    if any(row[i] != MISSING for panel in panels for row in panel.rows for i in theirs):
        theirs = set()
    kept = [i for i in range(len(columns)) if i not in theirs]
    return {
        "columns": [columns[i] for i in kept],
        "panels": [
            Panel(panel.title, [tuple(row[i] for i in kept) for row in panel.rows])
            for panel in panels
        ],
    }


def is_true(row: dict, column: str) -> bool:
    """Whether a flag is set; a missing one is not."""
    value = row.get(column, False)
    return not is_missing(value) and bool(value)


def lost_seeds(row: dict) -> int:
    """How many seeds diverged, as far as the row says."""
    value = row.get("n_diverged", 0)
    return 0 if is_missing(value) else int(value)


def seed_range(cells: Mapping[str, dict]) -> str:
    """How many seeds the gaps of a line have, smallest to largest."""
    counts = sorted({int(row["n_seeds"]) for row in cells.values() if row.get("run", True)})
    if not counts:
        return MISSING
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def mark_notes(panels: list[Panel]) -> list[str]:
    """What the marks that occur in these cells and titles mean."""
    cells = "".join(cell for panel in panels for row in panel.rows for cell in row)
    text = cells + "".join(panel.title for panel in panels)
    return [note for mark, note in _MARK_NOTES.items() if mark in text]


def twin(records: list[dict], frame: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The .csv twin: unrounded rows and the data set; `frame` serves where there are no rows."""
    data = pd.DataFrame.from_records(records) if records else frame.copy()
    kinds = {c: frame[c].dtype for c in data if c in frame}
    data = data.astype(kinds)
    known = "task" in data
    data.insert(0, "simulated", study.simulates(data["task"]) if known else study.simulated)
    data.insert(0, "dataset", study.name)
    return data
