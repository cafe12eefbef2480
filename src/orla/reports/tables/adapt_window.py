"""Recovery over the adapt part under several definitions, beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.paper import load
from orla.reports.study import PAPERS, StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin

_OWN, _BEST = "Rate by validation", "Rate best on the adapt part"
_MEASURE, _MEASURE_THERE = "recovery_adapt_percent", "adapt_recovery_percent"


class AdaptWindow(
    Table,
    name="adapt_window",
    label="Recovery over the adapt part, by definition",
    chapter="rates",
    order=20,
    needs=("lr_curves",),
    paper="optimizers",
):
    """What the paper's adapt-window recoveries would be under each reading of its words."""

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        for title, keys, rows in study.groups(models):
            if study.paper(keys, PAPERS) is None:
                continue
            found = list(_definitions(rows, study))
            panels.append(Panel(title, [_line(row, study) for row in found]))
            records += [keys | row for row in found]
        full = study.called("learner", study.comparison(PAPERS).minuend)
        optimizer = study.called("optimizer", load().headline["optimizer"])
        return self.document(
            study,
            "Recovery over the adapt part (%), while immediate derivatives learn. Reference: the "
            "error without drift counts as 100, as in every other table. Full: what "
            f"“{full}” recovers over the same part counts as 100, with {optimizer}, or with the "
            "same optimizer. Mean over seeds of one pair; rates at which a model diverged are left "
            "out of the best.",
            columns=[
                Column("Optimizer"),
                Column("Reference", "r", _OWN),
                Column("Reference", "r", _BEST),
                Column(f"Full, {optimizer}", "r", _BEST),
                Column("Full, same", "r", _BEST),
                Column("paper", "r"),
            ],
            panels=panels,
            notes=["The paper: its Table 5, in float32, ± as printed."] if panels else [],
            data=twin(records, models.iloc[:0], study),
        )


def _definitions(rows: pd.DataFrame, study: StudyFacts) -> Iterator[dict[str, float | str]]:
    given = study.comparison(PAPERS)
    full, immediate = given.minuend, given.subtrahend
    by = ["learner", "optimizer", "learning_rate"]
    means = rows.groupby(by)[_MEASURE].agg(lambda values: values.mean(skipna=False))
    best = means.groupby(["learner", "optimizer"]).max()
    selected = rows[rows["selected"].astype(bool)]
    own = selected.groupby(["learner", "optimizer"])[_MEASURE].mean()
    default = load().headline["optimizer"]
    theirs = {row["optimizer"]: row for row in load().table("optimizers") if _MEASURE_THERE in row}
    for optimizer in study.present(rows[rows["learner"] == immediate], "optimizer"):
        value, paper = best.get((immediate, optimizer)), theirs.get(optimizer, {})
        yield {
            "optimizer": optimizer,
            "own_reference_percent": own.get((immediate, optimizer)),
            "best_reference_percent": value,
            "best_full_default_percent": _share(value, best.get((full, default))),
            "best_full_same_percent": _share(value, best.get((full, optimizer))),
            "paper_percent": paper.get(_MEASURE_THERE),
            "paper_spread_percent": paper.get("spread_percent"),
        }


def _share(value: float | None, of: float | None) -> float | None:
    return None if is_missing(value) or is_missing(of) or of <= 0 else 100 * value / of


def _line(row: Mapping[str, float | str], study: StudyFacts) -> tuple[str, ...]:
    names = ("own_reference", "best_reference", "best_full_default", "best_full_same")
    spread = f" ± {number(row['paper_spread_percent'], 0)}"
    theirs = number(row["paper_percent"], 0)
    return (
        study.called("optimizer", row["optimizer"]),
        *(number(row[f"{name}_percent"], 0) for name in names),
        theirs + spread if theirs != MISSING else MISSING,
    )
