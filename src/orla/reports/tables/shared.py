"""Functions of all tables: cells with the paper's numbers, panels, marks, the .csv twin."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.paper import Number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.study.keys import DEFAULTS

BOOTSTRAP = "95 % percentile bootstrap interval over seeds of one pair"
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


def paper_text(there: Number | None, digits: int = 1, signed: bool = False) -> str:
    """A number of the paper, or its words, with the mark of the run it comes from."""
    if there is None:
        return MISSING
    mark = _CONFIGURATION_MARKS.get(there.configuration, "")
    return (there.text or number(there.value, digits, signed)) + mark


def paper_record(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `with_paper_rows` for the .csv twin: its number of the paper, interval and place."""
    fields = {f"paper_{name}": "value", "paper_text": "text", "paper_low": "low"}
    fields |= {f"paper_{field}": field for field in ("high", "configuration", "place")}
    there = {column: getattr(row["paper"], field, None) for column, field in fields.items()}
    return {column: value for column, value in row.items() if column != "paper"} | there


def paper_gap(study: StudyFacts, row: Mapping[str, Any]) -> Number | None:
    """The paper's gap for a row's condition; None where its numbers do not apply."""
    paper = study.paper(row, study.main)
    keys = ("optimizer", "precision", "split", "architecture")
    return paper.gap(*(row[key] for key in keys)) if paper else None


def with_paper_rows(
    frame: pd.DataFrame,
    study: StudyFacts,
    candidates: Iterable[Mapping[str, str]],
    number_of: Callable[[StudyFacts, Mapping[str, Any]], Number | None],
) -> pd.DataFrame:
    """The results with the paper's number of each row, and the rows of the paper that were not run.

    The latter are conditions of the study's own networks, precisions and splits; all their columns
    but the keys are missing, and "run" is False.

    Args:
        frame, study: results with key columns, and names of the study.
        candidates: what the paper has in its rows: learner, optimizer, comparison.
        number_of: the paper's number for a row's keys, None where it has none.
    """
    rows, by = frame.assign(run=True), ("architecture", "precision", "split")
    at = frame[["task", "pair"]].drop_duplicates().assign(**DEFAULTS)
    crossed = reduce(
        lambda left, kind: left.merge(frame[[kind]].drop_duplicates(), how="cross"), by, at
    )
    papers = [
        keys | dict(more)
        for keys in crossed.to_dict("records")
        for more in candidates
        if number_of(study, keys | dict(more)) is not None
    ]
    if papers:
        wanted = pd.DataFrame(papers).drop_duplicates()
        missing = wanted.merge(frame[list(wanted)], how="left_anti", on=list(wanted))
        # Whole numbers and flags stay what they are beside rows that have none.
        exact = rows.select_dtypes(["integer", "bool"])
        rows = rows.astype({column: exact[column].convert_dtypes().dtype for column in exact})
        missing = missing.assign(run=False).astype({"run": "boolean"})
        rows = pd.concat([rows, missing], ignore_index=True)
    return rows.assign(paper=[number_of(study, row) for row in rows.to_dict("records")])


def without_blank(
    columns: list[Column], panels: list[Panel], optional: Collection[str]
) -> dict[str, list[Column] | list[Panel]]:
    """Columns and panels, less the columns of these headers and groups where none has a number."""
    drop = {i for i, column in enumerate(columns) if {column.header, column.group} & {*optional}}
    if any(row[i] != MISSING for panel in panels for row in panel.rows for i in drop):
        drop = set()
    keep = [i for i in range(len(columns)) if i not in drop]
    return {
        "columns": [columns[i] for i in keep],
        "panels": [
            Panel(panel.title, [tuple(row[i] for i in keep) for row in panel.rows])
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


def mark_notes(panels: list[Panel]) -> list[str]:
    """What the marks that occur in these cells and titles mean."""
    cells = "".join(cell for panel in panels for row in panel.rows for cell in row)
    text = cells + "".join(panel.title for panel in panels)
    return [note for mark, note in _MARK_NOTES.items() if mark in text]


def twin(records: list[dict], frame: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The .csv twin: unrounded rows and the data set; `frame` serves where there are no rows."""
    blank = frame.drop(columns="paper", errors="ignore")
    data = pd.DataFrame.from_records(records) if records else blank
    kinds = {c: frame[c].dtype for c in data if c in frame}
    data = data.astype(kinds)
    simulated = study.simulates(data["task"]) if "task" in data else study.simulated
    data.insert(0, "simulated", simulated)
    data.insert(0, "dataset", study.name)
    return data
