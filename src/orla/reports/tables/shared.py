"""Functions of several tables: the paper's numbers beside ours, marks, means of groups."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.reports.cells import Cell, cell
from orla.reports.numbers import MISSING, is_missing, number, or_default, rate
from orla.reports.study import StudyFacts
from orla.reports.table import Panel
from orla.statistics.means import moments
from orla.study.keys import DEFAULTS

T_INTERVAL = "95 % t interval over seeds of one pair"
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


def rate_cell(column: str) -> Cell:
    """A column of the chosen rate, with `EDGE` where it lies on its grid's edge."""
    return cell(
        "Rate", lambda o: rate(o.row[column]) + EDGE * bool(or_default(o.row["edge"], False))
    )


def paper_text(row: Mapping[str, Any], name: str, digits: int = 1, signed: bool = False) -> str:
    """The paper's number of a row, or its words, with the mark of the run it comes from."""
    if is_missing(row.get("paper_place")):
        return MISSING
    text = or_default(row["paper_text"], number(row[f"paper_{name}"], digits, signed))
    return text + _CONFIGURATION_MARKS.get(row["paper_configuration"], "")


def with_paper_rows(
    frame: pd.DataFrame, study: StudyFacts, papers: pd.DataFrame, comparison: str | None = None
) -> pd.DataFrame:
    """The results with the paper's number of each row, and the rows of the paper that were not run.

    The latter are conditions of the study's own networks, precisions and splits; all their columns
    but the keys are missing, and "run" is False. `papers`: such as `Paper.gaps`, which may have
    further keys, of this `comparison`.
    """
    for kind in ("architecture", "precision", "split"):
        papers = papers[papers[kind].isin(frame[kind])]
    papers = frame[["task", "pair"]].drop_duplicates().merge(papers, how="cross").assign(**DEFAULTS)
    fits = (
        study.applicable_paper(row, comparison) is not None for row in papers.to_dict("records")
    )
    papers = papers[np.fromiter(fits, bool, len(papers))]
    key_columns = [column for column in papers if not column.startswith("paper_")]
    # Whole numbers and flags stay what they are beside rows that have none.
    rows = as_nullable(frame.assign(run=True)).merge(papers, how="left", on=key_columns)
    absent_rows = papers.merge(frame[key_columns], how="left_anti", on=key_columns)
    return pd.concat([rows, absent_rows.assign(run=False).astype({"run": "boolean"})])


def mark_notes(panels: list[Panel]) -> list[str]:
    """What the marks that occur in these cells and titles mean."""
    text = "".join(panel.text for panel in panels)
    return [note for mark, note in _MARK_NOTES.items() if mark in text]


def as_nullable(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with counts and truths that may be missing; numbers stay what they are."""
    exact = frame.select_dtypes(["integer", "bool"]).convert_dtypes().dtypes
    return frame.astype(exact.to_dict())


def mean_intervals(
    table: pd.DataFrame, by: list[str], columns: Iterable[str], count: str = "n_seeds"
) -> pd.DataFrame:
    """A row a group: `count`, the number of its rows; each column's mean and 95 % t interval.

    Columns: COLUMN, COLUMN_low, COLUMN_high; those of the table where it has no row.
    """
    rows = []
    for values, group in table.groupby(by, sort=False, dropna=False):
        row = dict(zip(by, values, strict=True)) | {count: len(group)}
        for name in columns:
            over = moments(group[name])
            ends = (name, f"{name}_low", f"{name}_high")
            row |= dict(zip(ends, (over.mean, *over.interval()), strict=True))
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else [*by, count, *columns])
