"""Errors by the condition number that is imposed on the recurrent weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.reports import paper_rows
from orla.reports.comparison import Mean, Sheet, mean_of, printed, seeds
from orla.reports.numbers import MISSING, is_missing
from orla.reports.panels import CELLS, EPISODE, Panels, titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.study.keys import DEFAULTS, KEYS

_JACOBIAN, _ERROR = "condition_number", "adapt_error"


class Isotropy(
    Panels,
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

    remarks = (
        "Where ∂h/∂θ does not follow W_hh, nothing was imposed on it, and equal errors "
        "say nothing of isotropy. Its condition number is that of the second learner's "
        "networks, of the first where the second's was not measured.",
    )

    def rows(self) -> list[dict[str, Any]]:
        """The paper's rows."""
        return load().table(self.part.more["paper"])

    def learners(self) -> list[str]:
        """The paper's two learners."""
        return list(dict.fromkeys(row["learner"] for row in self.rows()))

    def says(self, study: StudyFacts) -> str:
        names = [study.called("learner", name) for name in self.learners()]
        return (
            "Networks by the condition number that W_hh starts pretraining with: that of the "
            f"step's Jacobian ∂h/∂θ as adaptation measures it, squared error after the shift of "
            f"{names[0]} and {names[1]}, and whether the 95 % t interval of their difference, "
            f"paired by network, holds 0. {CELLS}"
        )

    def columns(self, study: StudyFacts) -> list[Column]:
        return [
            Column("W_hh", "r", "Condition number"),
            Column("∂h/∂θ", "r", "Condition number"),
            Column("Optimizer"),
            Column("n", "r"),
            *(Column(study.called("learner", n), "r", "Squared error") for n in self.learners()),
            Column("Alike"),
        ]

    def panels(self, sheet: Sheet, models: pd.DataFrame) -> Iterator[Panel]:
        study, rows = sheet.study, self.rows()

        def imposed(name: str) -> float:
            """The condition number that a network is given; NaN for one that takes none."""
            return float(study.options("architecture", name).get("condition", np.nan))

        drifted = paper_rows.drifting(paper_rows.plain(models))
        numbers = {name: imposed(name) for name in drifted["architecture"].unique()}
        ours = drifted.assign(imposed=drifted["architecture"].map(numbers).astype(float))
        ours = ours[ours["imposed"].notna() & ours["learner"].isin(self.learners())]
        for title, group in titled(study, ours, EPISODE, rows[0] if len(models) else None):
            group = group if len(ours) else ours
            each = sorted({float(row["condition_number"]) for row in rows} | set(group["imposed"]))
            lines = []
            for value in each:
                here = group[group["imposed"] == value]
                papers = {r["learner"]: r for r in rows if r["condition_number"] == value}
                for optimizer in study.present(here, "optimizer") or [""]:
                    name = study.called("optimizer", optimizer) if optimizer else MISSING
                    part = here[here["optimizer"] == optimizer]
                    first, *others = self._cells(sheet, part, papers)
                    lines.append((f"{value:g}", first, name, *others))
            yield Panel(title, lines)

    def _cells(
        self, sheet: Sheet, here: pd.DataFrame, papers: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[str]:
        """The Jacobian's number, seeds, an error a learner, and whether these are alike."""
        text = next(row for row in load().table("text") if "imposed" in row)
        sides = {name: here[here["learner"] == name] for name in self.learners()}
        blank = {"task": text["task"]} | DEFAULTS
        keys = {n: dict(r[list(KEYS)].iloc[0]) if len(r) else blank for n, r in sides.items()}
        errors = {name: _mean(rows, _ERROR) for name, rows in sides.items()}
        jacobians = {name: _mean(rows, _JACOBIAN) for name, rows in sides.items()}
        last = next((n for n in reversed(sides) if jacobians[n]), [*sides][-1])
        difference = _difference(*sides.values())
        sheet.note(keys[[*sides][-1]], f"{_ERROR}_difference", difference)
        there = printed(text, _JACOBIAN) if papers else None
        yield sheet.cell(keys[last], _JACOBIAN, jacobians[last], there, digits=1)
        yield seeds(difference or next(filter(None, errors.values()), None))
        for name, error in errors.items():
            yield sheet.cell(keys[name], _ERROR, error, printed(papers.get(name), "mse"), digits=5)
        alike = MISSING
        if difference is not None and not is_missing(difference.low):
            alike = "yes" if difference.low <= 0 <= difference.high else "no"
        said = next(iter(papers.values()), {}).get("within_interval")
        yield alike if said is None else f"{alike}\n{'yes' if said else 'no'}"


def _mean(rows: pd.DataFrame, column: str) -> Mean | None:
    """Over seeds; None where none has it and none diverged."""
    if rows.empty or column not in rows:
        return None
    ours = mean_of(rows[column], int(rows["diverged"].sum()))
    return ours if ours.n or ours.diverged else None


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> Mean | None:
    """First minus second learner's error, paired by network."""
    if first.empty or second.empty:
        return None
    pairs = first.merge(second, on=["seed"], suffixes=("", "_other"))
    lost = pairs["diverged"].astype(bool) | pairs["diverged_other"].astype(bool)
    return mean_of(pairs[_ERROR] - pairs[f"{_ERROR}_other"], int(lost.sum()))
