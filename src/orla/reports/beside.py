"""Tables that set every row of one of the paper's tables beside what the study ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.comparison import (
    COMPARED,
    NOT_COMPARABLE,
    Mean,
    adapts,
    compared,
    mean_of,
    mean_text,
    seeds,
)
from orla.reports.numbers import MISSING, number
from orla.reports.paper import load
from orla.reports.paper_rows import same_size
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import EDGE, NOT_RUN, mark_notes, twin
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

    def text(self, ours: Mean) -> str:
        """Ours as a cell."""
        text = mean_text(ours, self.digits, self.change, without=_NO_REFERENCE)
        return f"error {text} %" if self.change and ours.value == ours.value else text


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


class Ours(NamedTuple):
    """What the study measured of one row of the paper."""

    optimizer: str
    learning_rate: float
    edge: bool
    adapting: Mean
    heldout: Mean


def condition(row: Mapping[str, Any]) -> dict[str, str] | None:
    """Key columns of the condition that a row of the paper is about; None where one is missing.

    Without "optimizer" the row is about the best one: ours is that of the lowest error where
    learning rates are selected.
    """
    row = {**row, **row.get("ours", {})}
    if any(row.get(key) is None for key in ("task", "architecture", "learner")):
        return None
    names = ("task", "architecture", "learner", "optimizer", "precision", "split")
    return {name: row[name] for name in names if row.get(name) is not None}


def measured(models: pd.DataFrame, keys: Mapping[str, str], measure: Measure) -> Ours | None:
    """Ours for a condition, over its seeds; None where it was not run.

    Args:
        models: one row a seed, at the selected rate of each condition.
        keys: key columns; without "optimizer" the one with the lowest mean validation error.
        measure: the columns.
    """
    wanted = {c: value for c, value in (DEFAULTS | dict(keys)).items() if c in models}
    rows = models[np.logical_and.reduce([models[c] == value for c, value in wanted.items()])]
    if rows.empty:
        return None
    if "optimizer" not in keys:
        means = rows.groupby("optimizer")["validation_error"].mean()
        best = means.idxmin() if means.notna().any() else means.index[0]
        rows = rows[rows["optimizer"] == best]
    lost = int(rows["diverged"].sum())
    return Ours(
        str(rows["optimizer"].iloc[0]),
        float(rows["learning_rate"].iloc[0]),
        bool(rows["edge"].any()),
        *(mean_of(rows[column], lost) for column in measure[:2]),
    )


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
        records: dict[tuple, dict[str, Any]] = {}
        for row in load().table(self.part.more["paper"]) if len(models) else ():
            keys, name = condition(row), next((n for n in self.measures if n in row), None)
            if keys is None or (name is None and not _words(row)):
                continue
            measure = self.measures[name or next(iter(self.measures))]
            value = row.get(name) if name and not measure.change else None
            if (entry := (*keys.items(), name, value)) in records:
                continue  # "best optimizer" and Adam, where Adam is the best
            ours = measured(models, keys, measure)
            said = _said(study, keys, ours, row, measure, value)
            records[entry] = _record(keys, ours, row) | {
                "measure": name,
                "paper": value,
                "paper_words": _words(row) or None,
                "paper_learning_rate": row.get("learning_rate"),
                "paper_place": row.get("place"),
                "compared": said,
            }
            paper = _words(row) if value is None else number(value, measure.digits)
            parts = (study.called(key, keys[key]) for key in ("task", "split") if key in keys)
            line = (*_ours(study, records[entry], ours, measure), paper, said)
            lines.setdefault(", ".join(parts), []).append(line)
        panels = [Panel(title, rows) for title, rows in lines.items()]
        ran = any(record["run"] for record in records.values())
        return self.document(
            study,
            f"{self.says} ±: half of the 95 % t interval over seeds. Rates stand in the .csv.",
            columns=_COLUMNS,
            panels=panels,
            notes=[_CADENCE, *self.remarks, RULE, *mark_notes(panels)],
            size="scriptsize",
            data=twin(list(records.values()), models, study),
            ran=ran and study.reproduces,
        )


def _said(
    study: StudyFacts,
    keys: Mapping[str, str],
    ours: Ours | None,
    row: Mapping[str, Any],
    measure: Measure,
    value: float | None,
) -> str:
    """What the rule says of ours and the paper's number, or of ours and "adapts"."""
    if ours is None or not same_size(study, keys["architecture"], row):
        return NOT_COMPARABLE
    mean = ours.heldout if measure.on_heldout else ours.adapting
    return adapts(mean) if measure.change else compared(mean, value, row.get("spread_percent"))


def _ours(
    study: StudyFacts, record: Mapping[str, Any], ours: Ours | None, measure: Measure
) -> tuple[str, ...]:
    """Names and ours: the cells left of the paper's."""
    optimizer = record["optimizer"]
    names = (
        study.called("architecture", record["architecture"]),
        study.called("learner", record["learner"]).removesuffix(_USUAL),
        study.called("optimizer", optimizer) if optimizer else MISSING,
    )
    if ours is None:
        return (*names, MISSING, NOT_RUN, MISSING)
    adapting, heldout = measure.text(ours.adapting), measure.text(ours.heldout)
    return (*names, seeds(ours.adapting), adapting + (EDGE if ours.edge else ""), heldout)


def _words(row: Mapping[str, Any]) -> str:
    """The paper's words in place of a number, or "" where it has none."""
    if row.get("diverged"):
        return "diverged"
    words = (v for k, v in row.items() if k.endswith("_text") and k != "ratio_text")
    return next(map(str, words), "")


def _record(keys: Mapping[str, str], ours: Ours | None, row: Mapping[str, Any]) -> dict[str, Any]:
    """The first columns of the .csv twin: the condition, and ours with its intervals."""
    nothing = Mean(None, None, None, None, None)
    optimizer, rate, edge, adapting, heldout = ours or (None, None, None, nothing, nothing)
    return {
        **{key: keys.get(key) for key in ("task", "architecture", "learner")},
        "optimizer": keys.get("optimizer") or optimizer,
        **{"learning_rate": rate, "edge": edge},
        **{"n_seeds": adapting.n, "n_diverged": adapting.diverged},
        **dict(zip(("adapting", "adapting_low", "adapting_high"), adapting[:3], strict=True)),
        **dict(zip(("heldout", "heldout_low", "heldout_high"), heldout[:3], strict=True)),
        "run": ours is not None,
    }
