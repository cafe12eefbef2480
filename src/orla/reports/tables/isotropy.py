"""Errors by the condition number that is imposed on the recurrent weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import Mean, Sheet, mean_of
from orla.reports.numbers import MISSING, is_missing
from orla.reports.panels import titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.keys import DEFAULTS, KEYS

_JACOBIAN, _ERROR = "condition_number", "adapt_error"


class Isotropy(
    Table,
    name="isotropy",
    label="Error by the imposed condition number",
    chapter="mechanism",
    order=50,
    needs=("heldout",),
    paper="condition_number",
):
    """Networks whose recurrent weights have a prescribed condition number, a row each.

    Such a network has the option ``condition``.
    """

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        sheet = Sheet(study)
        rows = load().table(self.part.more["paper"])
        learners = list(dict.fromkeys(row["learner"] for row in rows))
        own = shared.drifting(shared.plain(models))
        known = {name: _imposed(study, name) for name in own["architecture"].unique()}
        own = own.assign(imposed=own["architecture"].map(known).astype(float))
        own = own[own["imposed"].notna() & own["learner"].isin(learners)]
        panels = []
        for title, found in titled(study, own, shared.EPISODE):
            panels.append(Panel(title, _lines(sheet, found, rows, learners)))
        if not panels and len(models):
            blank = {name: rows[0].get(name, "") for name in KEYS} | DEFAULTS
            title = study.called("task", blank["task"])
            panels = [Panel(title, _lines(sheet, own, rows, learners))]
        names = [study.called("learner", name) for name in learners]
        return self.document(
            study,
            "Networks by the condition number that W_hh starts pretraining with: that of the "
            f"step's Jacobian ∂h/∂θ as adaptation measures it, squared error after the shift of "
            f"{names[0]} and {names[1]}, and whether the 95 % t interval of their difference, "
            f"paired by network, holds 0. {shared.CELLS}",
            columns=[
                Column("W_hh", "r", "Condition number"),
                Column("∂h/∂θ", "r", "Condition number"),
                Column("Optimizer"),
                Column("n", "r"),
                *(Column(name, "r", "Squared error") for name in names),
                Column("Alike"),
            ],
            panels=panels,
            notes=[
                "Where ∂h/∂θ does not follow W_hh, nothing was imposed on it, and equal errors "
                "say nothing of isotropy. Its condition number is that of the second learner's "
                "networks, of the first where the second's was not measured.",
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _imposed(study: StudyFacts, network: str) -> float:
    """The condition number that a network is given; NaN for a network that takes none."""
    return float(study.options("architecture", network).get("condition", np.nan))


def _lines(
    sheet: Sheet, own: pd.DataFrame, rows: list[dict[str, Any]], learners: list[str]
) -> list[tuple[str, ...]]:
    conditions = sorted({float(row["condition_number"]) for row in rows} | set(own["imposed"]))
    lines = []
    for imposed in conditions:
        here = own[own["imposed"] == imposed]
        for optimizer in sheet.study.present(here, "optimizer") or [""]:
            found = here[here["optimizer"] == optimizer]
            paper = {r["learner"]: r for r in rows if r["condition_number"] == imposed}
            lines.append((f"{imposed:g}", *_cells(sheet, found, paper, learners, optimizer)))
    return lines


def _cells(
    sheet: Sheet,
    own: pd.DataFrame,
    paper: Mapping[str, Mapping[str, Any]],
    learners: list[str],
    optimizer: str,
) -> tuple[str, ...]:
    told = next(row for row in load().table("text") if "imposed" in row)
    by = {name: own[own["learner"] == name] for name in learners}
    task = {"task": told["task"]} | DEFAULTS
    keys = {
        name: dict(zip(KEYS, rows.iloc[0][list(KEYS)], strict=True)) if len(rows) else task
        for name, rows in by.items()
    }
    last = next((n for n in reversed(learners) if _mean(by[n], _JACOBIAN)), learners[-1])
    jacobian = paper_rows.theirs(told, "condition_number") if paper else None
    errors = [_mean(by[name], _ERROR) for name in learners]
    difference = _difference(*(by[name] for name in learners))
    alike = _alike(difference)
    theirs = next(iter(paper.values()), {}).get("within_interval")
    sheet.note(keys[learners[-1]], f"{_ERROR}_difference", difference, None)
    return (
        sheet.cell(keys[last], _JACOBIAN, _mean(by[last], _JACOBIAN), jacobian, digits=1),
        sheet.study.called("optimizer", optimizer) if optimizer else MISSING,
        shared.seeds(difference or next((e for e in errors if e), None)),
        *(
            sheet.cell(keys[n], _ERROR, e, paper_rows.theirs(paper.get(n), "mse"), digits=5)
            for n, e in zip(learners, errors, strict=True)
        ),
        alike if theirs is None else f"{alike}\n{'yes' if theirs else 'no'}",
    )


def _mean(rows: pd.DataFrame, column: str) -> Mean | None:
    """Over seeds; None where none has it and none diverged."""
    if rows.empty or column not in rows:
        return None
    found = mean_of(rows[column], int(rows["diverged"].sum()))
    return found if found.n or found.diverged else None


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> Mean | None:
    """First minus second learner's error, paired by network."""
    if first.empty or second.empty:
        return None
    pairs = first.merge(second, on=["seed"], suffixes=("", "_other"))
    lost = pairs["diverged"].astype(bool) | pairs["diverged_other"].astype(bool)
    return mean_of(pairs[_ERROR] - pairs[f"{_ERROR}_other"], int(lost.sum()))


def _alike(difference: Mean | None) -> str:
    if difference is None or is_missing(difference.low):
        return MISSING
    return "yes" if difference.low <= 0 <= difference.high else "no"
