"""Tables that set every row of one of the paper's tables beside what the study ran.

The rule of `orla.reports.agreement` says of each row whether both numbers agree; `RULE` states it
under the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.agreement import COMPARED, NOT_COMPARABLE, adapts, compared
from orla.reports.numbers import MISSING, count, is_missing, number
from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import EDGE, NOT_RUN, mark_notes, twin
from orla.statistics.means import moments
from orla.study.keys import DEFAULTS

RULE = (
    f"{COMPARED} A dash: not run, diverged, a network of another size, or only words in the paper."
    " No 100: the learner that counts as 100 % was not run on this network."
)


class Measure(NamedTuple):
    """Our columns of a number of the paper, and the digits after the point that both show.

    on_heldout: whether the paper's number, too, is of the held-out part.
    change: whether it is the error's change, of which the paper only says that a network adapts.
    """

    adapting: str
    heldout: str
    digits: int = 1
    on_heldout: bool = False
    change: bool = False


# By the paper's name of the number.
Measures = Mapping[str, Measure]
VS_RTRL = Measure("adapt_vs_best_rtrl_percent", "heldout_vs_best_rtrl_percent")


def errors(digits: int) -> Measures:
    """The mean squared error."""
    return {"mse": Measure("adapt_error", "heldout_error", digits)}


# The cadence that a learner's name ends with, where it is left out.
_USUAL = ", per step"
_CADENCE = "Learners without a cadence update at each step."
# A model that did not diverge has no number where the learner that counts as 100 was not run.
_NO_REFERENCE = "no 100"
_COLUMNS = [
    Column("Net"),
    Column("Learner"),
    Column("Optimizer"),
    Column("n", "r", "Ours"),
    Column("Adapting", "r", "Ours"),
    Column("Held-out", "r", "Ours"),
    Column("", "r", "Paper"),
    Column("", "l"),
]


@dataclass(frozen=True)
class Measured:
    """What the study measured of one row; numbers are (mean over seeds, ends of the t interval)."""

    optimizer: str
    learning_rate: float
    edge: bool
    n_seeds: int
    n_diverged: int
    adapting: tuple[float, float, float]
    heldout: tuple[float, float, float]


def condition(row: dict[str, Any]) -> dict[str, str] | None:
    """Key columns of the condition that a row of the paper is about; None where one is missing.

    Without "optimizer" the row is about the best one: ours is that of the lowest error where
    learning rates are selected.
    """
    row = row | row.get("ours", {})
    if any(row.get(key) is None for key in ("task", "architecture", "learner")):
        return None
    names = ("task", "architecture", "learner", "optimizer", "precision", "split")
    return {name: row[name] for name in names if row.get(name) is not None}


class BesidePaper(Table):
    """A table with every row of a table of the paper, and ours where it was run.

    A subclass names the paper's table (``paper=``) and its numbers (`measures`), which are columns
    of the table of models. A study that does not reproduce the paper does not show it.
    """

    measures: ClassVar[Measures]
    says: ClassVar[str] = ""
    remarks: ClassVar[tuple[str, ...]] = ()

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        """The models, with columns that only this table needs."""
        return models

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        models = self.models(models)
        lines: dict[str, list[tuple[str, ...]]] = {}
        records, ran, printed = [], False, set()
        for theirs in load().table(self.part.more["paper"]) if len(models) else ():
            keys = condition(theirs)
            measure = next((name for name in self.measures if name in theirs), None)
            if keys is None or (measure is None and not _worded(theirs)):
                continue
            columns = self.measures[measure or next(iter(self.measures))]
            ours = measured(models, keys, columns.adapting, columns.heldout)
            ran = ran or ours is not None
            value = theirs.get(measure) if measure and not columns.change else None
            if (shown := (*keys.items(), measure, value)) in printed:
                continue  # "best optimizer" and Adam, where Adam is the best
            printed.add(shown)
            said = NOT_COMPARABLE
            size = study.options("architecture", keys["architecture"]).get("hidden", HIDDEN)
            if ours is not None and size == theirs.get("hidden", HIDDEN):
                spread = theirs.get("spread_percent")
                which = ours.heldout if columns.on_heldout else ours.adapting
                said = adapts(*which) if columns.change else compared(*which, value, spread)
            line = self._line(study, keys, ours, theirs, value, said, columns)
            title = ", ".join(
                study.called(key, keys[key]) for key in ("task", "split") if key in keys
            )
            lines.setdefault(title, []).append(line)
            records.append(_record(keys, ours, theirs, measure, value, said))
        panels = [Panel(title, rows) for title, rows in lines.items()]
        return self.document(
            study,
            f"{self.says} ±: half of the 95 % t interval over seeds. Rates stand in the .csv.",
            columns=_COLUMNS,
            panels=panels,
            notes=[_CADENCE, *self.remarks, RULE, *mark_notes(panels)],
            size="scriptsize",
            data=twin(records, models, study),
            ran=ran and study.reproduces,
        )

    def _line(
        self,
        study: StudyFacts,
        keys: Mapping[str, str],
        ours: Measured | None,
        theirs: Mapping[str, Any],
        value: float | None,
        said: str,
        columns: Measure,
    ) -> tuple[str, ...]:
        optimizer = keys.get("optimizer") or (ours.optimizer if ours else "")
        names = [
            study.called("architecture", keys["architecture"]),
            study.called("learner", keys["learner"]).removesuffix(_USUAL),
            study.called("optimizer", optimizer) if optimizer else MISSING,
        ]
        paper = number(value, columns.digits) if value is not None else _worded(theirs)
        if ours is None:
            return (*names, MISSING, NOT_RUN, MISSING, paper, said)
        lost = f" ({ours.n_diverged} div.)" if ours.n_diverged else ""
        return (
            *names,
            count(ours.n_seeds) + lost,
            _cell(ours.adapting, ours.n_diverged, columns) + (EDGE if ours.edge else ""),
            _cell(ours.heldout, ours.n_diverged, columns),
            paper,
            said,
        )


def measured(
    models: pd.DataFrame, keys: Mapping[str, str], adapt: str, heldout: str
) -> Measured | None:
    """Ours for a condition, over its seeds; None where it was not run.

    Args:
        models: one row a seed, at the selected rate of each condition.
        keys: key columns; without "optimizer" the one with the lowest mean validation error.
        adapt, heldout: columns of the number while adapting and on the held-out part.
    """
    wanted = DEFAULTS | dict(keys)
    known = {column: value for column, value in wanted.items() if column in models}
    rows = models[np.logical_and.reduce([models[c] == v for c, v in known.items()])]
    if rows.empty:
        return None
    if "optimizer" not in keys:
        errors = rows.groupby("optimizer")["validation_error"].mean()
        best = errors.idxmin() if errors.notna().any() else errors.index[0]
        rows = rows[rows["optimizer"] == best]
    found = [moments(rows[column]) for column in (adapt, heldout)]
    return Measured(
        optimizer=str(rows["optimizer"].iloc[0]),
        learning_rate=float(rows["learning_rate"].iloc[0]),
        edge=bool(rows["edge"].any()),
        n_seeds=found[0].n,
        n_diverged=int(rows["diverged"].sum()),
        adapting=(found[0].mean, *found[0].interval()),
        heldout=(found[1].mean, *found[1].interval()),
    )


def _cell(of: tuple[float, float, float], diverged: int, columns: Measure) -> str:
    value, low, high = of
    if is_missing(value):
        return "diverged" if diverged else _NO_REFERENCE
    half = "" if is_missing(high) else f" ± {number((high - low) / 2, columns.digits)}"
    told = number(value, columns.digits, signed=columns.change) + half
    return f"error {told} %" if columns.change else told


def _worded(theirs: Mapping[str, Any]) -> str:
    """The paper's words in place of a number, or "" where it has none."""
    if theirs.get("diverged"):
        return "diverged"
    words = (v for k, v in theirs.items() if k.endswith("_text") and k != "ratio_text")
    return next(map(str, words), "")


def _record(
    keys: Mapping[str, str],
    ours: Measured | None,
    theirs: Mapping[str, Any],
    measure: str | None,
    value: float | None,
    said: str,
) -> dict[str, Any]:
    found = dict.fromkeys(("optimizer", "learning_rate", "edge", "n_seeds", "n_diverged"))
    found |= {k: v for k, v in vars(ours).items() if k in found} if ours else {}
    empty = (None, None, None)
    for name, triple in (
        ("adapting", ours.adapting if ours else empty),
        ("heldout", ours.heldout if ours else empty),
    ):
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), triple, strict=True))
    return {
        **{key: keys.get(key) for key in ("task", "architecture", "learner")},
        **found,
        "optimizer": keys.get("optimizer") or found["optimizer"],
        "run": ours is not None,
        "measure": measure,
        "paper": value,
        "paper_words": _worded(theirs) or None,
        "paper_learning_rate": theirs.get("learning_rate"),
        "paper_place": theirs.get("place"),
        "compared": said,
    }
