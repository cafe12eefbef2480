"""Gradient and cadence, two by two: the study's main table."""

from __future__ import annotations

from typing import Any

import pandas as pd

from orla.reports.estimates import (
    ESTIMANDS,
    OF_HELDOUT,
    OVER_SEEDS,
    estimands,
    gap_lines,
    guard_notes,
    recovery_lines,
)
from orla.reports.square import Square, square
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import NOT_RUN, seed_range, twin


class TwoByTwo(
    Table,
    name="two_by_two",
    label="Gradient and cadence, two by two",
    chapter="cadence",
    order=10,
    needs=("estimates",),
):
    """Recovery of two gradients at two cadences, and their four differences, by optimizer.

    Of settings with one of the differences, which are no two by two, nothing is shown.
    """

    def build(self, estimates: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        found = square(study)
        panels, own = [], []
        rows = estimates[estimates["comparison"].isin(found or ())]
        rows = rows[rows["estimand"].isin(OF_HELDOUT)]
        for estimand in estimands(rows):
            for title, _, group in study.groups(rows[rows["estimand"] == estimand]):
                if group["comparison"].nunique() == 1:
                    continue  # one difference stands among the gaps
                lines = []
                for optimizer, part in group.groupby("optimizer", sort=False):
                    cells = {row["comparison"]: row for row in part.to_dict("records")}
                    name = study.called("optimizer", optimizer)
                    lines.append((name, seed_range(cells), *_line(cells, found)))
                    own += cells.values()
                panels.append(Panel(f"{title}: {ESTIMANDS[estimand]}", lines))
        return self.document(
            study,
            "Recovery of the held-out error (%) of two gradients at two cadences, and what each "
            f"of the two adds (pp, with differences of R² and MSE). Brackets: {OVER_SEEDS}; n: "
            "seeds.",
            columns=_columns(study, found),
            panels=panels,
            notes=guard_notes(own, panels) or ([] if found else [_NO_SQUARE]),
            data=twin(own, rows, study),
            kept=2 if found else 1,
            widest=6,
            ran=bool(panels),
        )


_NO_SQUARE = "The study's comparisons form no two by two: it needs two gradients at two cadences."
# First words of the columns of the learner that is subtracted from, and of the other.
_FIRST, _SECOND = "recovery_full", "recovery_immediate"
_GROUPS = ("Recovery (%)", "Gradient: full − immediate (pp)", "Cadence: per window − per step (pp)")


def _columns(study: StudyFacts, found: Square | None) -> list[Column]:
    if found is None:
        return [Column("Optimizer")]
    learners = [study.called("learner", name) for name in found.learners(study)]
    recovery, gradient, cadence = _GROUPS
    return [
        Column("Optimizer"),
        Column("n", "r"),
        *(Column(name.replace(", ", ",\n"), "r", recovery) for name in learners),
        Column("per step", "r", gradient),
        Column("per window", "r", gradient),
        Column("immediate gradient", "r", cadence),
        Column("full gradient", "r", cadence),
    ]


def recoveries(cells: dict[str, dict[str, Any]], found: Square) -> list[tuple[dict, str] | None]:
    """For immediate and full, each per step and per window: a row that holds it, and its side."""
    places = (
        ((found.per_step, _SECOND), (found.immediate, _SECOND)),
        ((found.per_window, _SECOND), (found.immediate, _FIRST)),
        ((found.per_step, _FIRST), (found.full, _SECOND)),
        ((found.per_window, _FIRST), (found.full, _FIRST)),
    )
    return [
        next(((cells[name], side) for name, side in where if name in cells), None)
        for where in places
    ]


def _line(cells: dict[str, dict[str, Any]], found: Square) -> list[str]:
    known = recoveries(cells, found)
    recovered = [recovery_lines(*place) if place else NOT_RUN for place in known]
    return recovered + [gap_lines(cells[n]) if n in cells else NOT_RUN for n in found]
