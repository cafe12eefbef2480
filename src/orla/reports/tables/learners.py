"""Learners: how near their gradients come to the exact one, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.alignment import against_exact, ordered, references
from orla.reports.cells import Row, called, cell, counted, ends, value
from orla.reports.numbers import MISSING, memory, number, powers
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table

_MORE = "‡"


def _short(text: str) -> str:
    """The first order of growth that a declaration names, with a mark where it says more."""
    order = re.search(r"O\(.*?\)", text)
    first = order[0] if order else text
    return (powers(first) or MISSING) + (_MORE if first != text else "")


class Learners(
    Table,
    name="learners",
    label="Learners' gradients and what they cost",
    chapter="breadth",
    order=10,
    needs=("learners",),
):
    """A panel a network and driver, a row a learner that watched: agreement, exactness, cost."""

    layout: ClassVar = {"size": "scriptsize"}
    cells = (
        called("learner", column="observer"),
        value("Gradient", "exactness", _short, "Declared", "l"),
        value("Time", "time", _short, "Declared", "l"),
        value("Memory", "memory", _short, "Declared", "l"),
        value("Carried", "carried_bytes", memory),
        ends("Cosine", "cosine", "cosine_t95_low", "cosine_t95_high", digits=3),
        cell("above 0", lambda line: _percent(line.row["positive_share"])),
        value("Norm", "norm_ratio", digits=2),
        counted(),
    )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        exact = references(against_exact(rows, study), study) or "an exact learner"
        return (
            f"Each learner's gradient of the recurrent parameters beside that of {exact}, on the "
            "trajectory of the learner and optimizer in the heading. Cosine: mean over updates, "
            "then over seeds; brackets: 95 % t interval over seeds of one pair; above 0: share of "
            "updates with such a cosine; norm: median over updates of the ratio of the norms. "
            "Declared: what the learner says of itself, n being the number of units. Carried: what "
            "it holds of one model between updates; n: seeds, and how many diverged (div.)."
        )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, _, group in study.groups(against_exact(rows, study), "learner", "optimizer"):
            by_name = group.set_index("observer", drop=False)
            lines = by_name.loc[ordered(group["observer"], study)].to_dict("records")
            yield title, [row | _declared(study, row["observer"]) for row in lines]

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        marked = any(_MORE in text for p in contents.panels for row in p.rows for text in row)
        note = "‡ otherwise for some networks or windows: see the reference of learners."
        return [note] if marked else []


def _declared(study: StudyFacts, learner: str) -> dict[str, str]:
    declared = study.declaration("learner", learner)
    return {name: declared.get(name, "") for name in ("exactness", "time", "memory")}


def _percent(share: float) -> str:
    return MISSING if pd.isna(share) else f"{number(100 * share, 0)} %"
