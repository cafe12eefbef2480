"""Cosine of the immediate and the past gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.agreement import NOT_COMPARABLE
from orla.reports.measured import Mean, Means, Sheet
from orla.reports.numbers import MISSING
from orla.reports.panels import titled
from orla.reports.paper import load
from orla.reports.pooled import notes_on_pairs, over_pairs
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.keys import KEYS

_EXACT, _WINDOWS = "past_cosine", "window_cosine"
_COLUMNS = [
    Column("Network"),
    Column("Optimizer"),
    Column("n", "r"),
    Column("exact, per step", "r", "Ours"),
    Column("by windows", "r", "Ours"),
    Column("The paper", "r"),
]


class PastCosines(
    Table,
    name="cosine",
    label="Cosine of the immediate and the past gradient",
    chapter="mechanism",
    order=10,
    needs=("measured",),
    paper="cosine",
):
    """The cosine along a stream that drifts, exact and by windows, beside the paper's nine cells.

    What the paper measured by windows is compared with ours by windows, the rest with ours per
    step.
    """

    def build(self, measured: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        measured = over_pairs(measured)
        sheet, means = Sheet(study), Means(measured)
        rows = _cells(load().table(self.part.more["paper"])) if len(measured) else []
        own = _own(measured, study)
        frame = paper_rows.beside(own.assign(learner="")[list(KEYS)].drop_duplicates(), rows, study)
        panels = []
        for title, conditions in titled(study, frame, shared.EPISODE):
            lines = [
                _line(
                    sheet,
                    keys,
                    _measured(means, own, keys),
                    paper_rows.of_row(rows, keys["theirs"]),
                )
                for keys in conditions.to_dict("records")
            ]
            panels.append(Panel(title, lines))
        full = study.called("learner", paper_rows.full_learner())
        return self.document(
            study,
            "Mean over the adaptation of cos(g_imm, g_past), g_past = g_full − g_imm. Exact: at "
            "each step, g_full by exact RTRL, which drives the network. By windows: g_full by "
            f"backpropagation through a window, g_imm summed over it, along {full} where it ran. "
            "±: half of the 95 % t interval over seeds; n: seeds.",
            columns=_COLUMNS,
            panels=panels,
            notes=[
                "Under the paper's number: which of ours it is compared with.",
                *notes_on_pairs(frame),
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The paper's rows, one that stands for several tasks and sizes as one a cell."""
    return [
        {**row, "task": task, "hidden": size}
        for row in rows
        for task in row["task"].split(" and ")
        for size in (row["hidden"] if isinstance(row.get("hidden"), list) else [row.get("hidden")])
    ]


def _own(measured: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The conditions with either cosine, and which: keys and ``measure``."""
    rows = shared.drifting(shared.plain(measured))
    exact = [
        name
        for name in rows["learner"].unique()
        if study.declaration("learner", name).get("exactness") == "exact"
        and study.stride(name) == 1
    ]
    per_step = (rows["measure"] == _EXACT) & rows["learner"].isin(exact)
    return rows.loc[per_step | (rows["measure"] == _WINDOWS), [*KEYS, "measure"]]


def _measured(means: Means, own: pd.DataFrame, keys: Mapping[str, Any]) -> dict[str, Mean | None]:
    """Both cosines of a condition, whichever learner drives it; that of the paper first."""
    same = [name for name in KEYS if name != "learner"]
    rows = own[(own[same] == pd.Series({name: keys[name] for name in same})).all(axis=1)]
    found: dict[str, Mean | None] = {}
    for measure in (_EXACT, _WINDOWS):
        learners = sorted(
            rows.loc[rows["measure"] == measure, "learner"],
            key=lambda name: (name != paper_rows.full_learner(), name),
        )
        at = {**keys, "learner": learners[0]} if learners else None
        found[measure] = means.of(at, measure) if at else None
    return found


def _line(
    sheet: Sheet,
    keys: Mapping[str, Any],
    ours: Mapping[str, Mean | None],
    row: Mapping[str, Any] | None,
) -> tuple[str, ...]:
    study = sheet.study
    paper = paper_rows.theirs(row, "cosine")
    compared = _WINDOWS if row and "window" in row else _EXACT
    said = {
        measure: sheet.note(keys, measure, ours[measure], paper if measure == compared else None)
        for measure in (_EXACT, _WINDOWS)
    }
    how = "by windows" if compared == _WINDOWS else "exact"
    judged = "" if said[compared] == NOT_COMPARABLE else f": {said[compared]}"
    return (
        paper_rows.network_name(study, keys, row),
        study.called("optimizer", keys["optimizer"]) if keys["optimizer"] else MISSING,
        shared.seeds(ours[compared] or ours[_EXACT] or ours[_WINDOWS]),
        shared.shown(ours[_EXACT], 3, signed=True),
        shared.shown(ours[_WINDOWS], 3, signed=True),
        f"{paper.text(3, signed=True, ends=True)}\n{how}{judged}" if paper else MISSING,
    )
