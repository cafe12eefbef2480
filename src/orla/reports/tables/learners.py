"""Learners: how near their gradients come to the exact one, and what they cost."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from orla.reports.alignment import against_exact, ordered, references
from orla.reports.numbers import MISSING, count, estimate, memory, number, powers
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin

_MORE = "‡"
_MORE_NOTE = "‡ otherwise for some networks or windows: see the reference of learners."


class Learners(
    Table,
    name="learners",
    label="Learners' gradients and what they cost",
    chapter="breadth",
    order=10,
    needs=("learners",),
):
    """A panel a network and driver, a row a learner that watched: agreement, exactness, cost."""

    def build(self, learners: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        shown = against_exact(learners, study)
        for title, _, rows in study.groups(shown, "learner", "optimizer"):
            by_name = rows.set_index("observer", drop=False)
            found = by_name.loc[ordered(rows["observer"], study)].to_dict("records")
            panels.append(Panel(title, [_line(study, row) for row in found]))
            records += [row | _declared(study, row) for row in found]
        exact = references(shown, study) or "an exact learner"
        return self.document(
            study,
            f"Each learner's gradient of the recurrent parameters beside that of {exact}, on the "
            "trajectory of the learner and optimizer in the heading. Cosine: mean over updates, "
            "then over seeds; brackets: 95 % t interval over seeds of one pair; above 0: share of "
            "updates with such a cosine; norm: median over updates of the ratio of the norms. "
            "Declared: what the learner says of itself, n being the number of units. Carried: what "
            "it holds of one model between updates; n: seeds, and how many diverged (div.).",
            columns=[
                Column("Learner"),
                Column("Gradient", "l", "Declared"),
                Column("Time", "l", "Declared"),
                Column("Memory", "l", "Declared"),
                Column("Carried", "r"),
                Column("Cosine", "r"),
                Column("above 0", "r"),
                Column("Norm", "r"),
                Column("n", "r"),
            ],
            panels=panels,
            notes=_notes(panels),
            size="scriptsize",
            data=twin(records, learners, study),
        )


def _declared(study: StudyFacts, row: dict[str, Any]) -> dict[str, str]:
    declared = study.declaration("learner", row["observer"])
    return {name: declared.get(name, "") for name in ("exactness", "time", "memory")}


def _short(text: str) -> str:
    """The first order of growth that a declaration names, with a mark where it says more."""
    found = re.search(r"O\(.*?\)", text)
    first = found[0] if found else text
    return (powers(first) or MISSING) + (_MORE if first != text else "")


def _notes(panels: list[Panel]) -> list[str]:
    marked = any(_MORE in cell for panel in panels for row in panel.rows for cell in row)
    return [_MORE_NOTE] if marked else []


def _line(study: StudyFacts, row: dict[str, Any]) -> tuple[str, ...]:
    declared = [_short(text) for text in _declared(study, row).values()]
    n, lost = row["n_seeds"], row["n_diverged"]
    ends = row["cosine_t95_low"], row["cosine_t95_high"]
    share = row["positive_share"]
    return (
        study.called("learner", row["observer"]),
        *declared,
        memory(row["carried_bytes"]),
        estimate(row["cosine"], *ends, digits=3, n=n),
        MISSING if pd.isna(share) else f"{number(100 * share, 0)} %",
        number(row["norm_ratio"], 2),
        count(n) + (f" ({lost} div.)" if lost else ""),
    )
