"""Tables beside the paper's: by conditions, or by the rows of one of its tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.cells import Line, Row, called, cell, value
from orla.reports.comparison import (
    COMPARED,
    NOT_COMPARABLE,
    Mean,
    adapts,
    compared,
    mean_of,
    mean_text,
    means_by_keys,
    seeds,
)
from orla.reports.numbers import MISSING, number
from orla.reports.paper import load
from orla.reports.paper_rows import (
    beside_paper,
    full_learner,
    notes_on_pairs,
    ran_first,
    same_size,
    titled,
)
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import EDGE, mark_notes, twin
from orla.results.estimands import ESTIMANDS
from orla.study.keys import DEFAULTS, KEYS

CELLS = (
    "First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the "
    "paper's number."
)


class BesidePaper(Table):
    """A table with the paper's numbers; a study that does not reproduce the paper shows none.

    Attributes:
        remarks: what is said under the table before the rule of comparison.
        rule: that rule.
    """

    layout: ClassVar = {"size": "scriptsize"}
    remarks: ClassVar[tuple[str, ...]] = ()
    rule: ClassVar[str] = f"{COMPARED} Neither: not run, diverged, or a network of another size."

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The paper's rows."""
        return load().table(self.part.more["paper"])

    def papers_values(self, column: str) -> list[Any]:
        """What the paper's rows have in a column, each once."""
        return list(dict.fromkeys(row[column] for row in self.papers_rows))

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        """The caption, with the names of the learners that its fields in braces stand for."""
        return self.says.format(full=study.called("learner", full_learner()))

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        pairs = notes_on_pairs(record["pair"] for record in contents.records)
        return [*self.remarks, *pairs, self.rule]

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        return twin(contents.records, pd.DataFrame(columns=list(KEYS)), study)

    def ran(self, contents: Contents, study: StudyFacts) -> bool:
        return study.reproduces and any(record["run"] for record in contents.records)


class ByCondition(BesidePaper):
    """A line a condition: the study's, with the paper's row of it, and those not run.

    A subclass gives the study's `conditions`.
    """

    panel_by: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def conditions(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The study's conditions, as `orla.reports.comparison.by_condition` gives them."""

    def rows(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        conditions = self.conditions(*needed, study=study)
        return beside_paper(conditions, self.papers_rows, study, means_by_keys(needed[-1]))

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        if self.panel_by:
            groups = titled(study, rows, self.panel_by)
        else:
            groups = ran_first((title, group) for title, _, group in study.groups(rows))
        for title, group in groups:
            yield title, group.to_dict("records")


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

    def text(self, ours: Mean | None) -> str:
        """Ours as a cell."""
        # A model has no number, too, where the learner that counts as 100 was not run.
        text = mean_text(ours, self.digits, self.change, without="no 100")
        return f"error {text} %" if self.change and ours and ours.value == ours.value else text


# By the paper's name of the number.
Measures = Mapping[str, Measure]
VS_RTRL = Measure("adapt_vs_best_rtrl_percent", "heldout_vs_best_rtrl_percent")


def errors(digits: int) -> Measures:
    """The mean squared error."""
    return {"mse": Measure("adapt_error", "heldout_error", digits)}


def condition(row: Row) -> dict[str, str] | None:
    """Key columns of the condition that a row of the paper is about; None where one is missing.

    Without "optimizer" the row is about the best one: ours is that of the lowest error that
    learning rates are chosen by.
    """
    row = {**row, **row.get("ours", {})}
    if any(row.get(key) is None for key in ("task", "architecture", "learner")):
        return None
    names = ("task", "architecture", "learner", "optimizer", "precision", "split")
    return {name: row[name] for name in names if row.get(name) is not None}


def measured(models: pd.DataFrame, keys: Row, measure: Measure) -> dict[str, Any]:
    """Ours for a condition, over its seeds: optimizer, rate, edge and both means, where it ran.

    Args:
        models: one row a seed, at the chosen rate of each condition; with a column "part", rows of
            both choices, of which those of the measure's own part count.
        keys: key columns; without "optimizer" the one with the lowest mean error of its choice.
        measure: the columns.
    """
    part = "heldout" if measure.on_heldout else "adapt"
    wanted = {c: v for c, v in (DEFAULTS | dict(keys) | {"part": part}).items() if c in models}
    rows = models[np.logical_and.reduce([models[c] == value for c, value in wanted.items()])]
    ours = dict.fromkeys(("optimizer", "learning_rate", "edge"))
    if rows.empty:
        return ours | keys | {"adapting": None, "heldout": None, "run": False}
    if "optimizer" not in keys:
        means = rows.groupby("optimizer")[ESTIMANDS[part].validation].mean()
        best = means.idxmin() if means.notna().any() else means.index[0]
        rows = rows[rows["optimizer"] == best]
    lost = int(rows["diverged"].sum())
    return {
        **keys,
        **rows[[*ours]].iloc[0],
        "edge": bool(rows["edge"].any()),
        "adapting": mean_of(rows[measure.adapting], lost),
        "heldout": mean_of(rows[measure.heldout], lost),
        "run": True,
    }


def _learner(line: Line) -> str:
    return line.study.called("learner", line.row["learner"]).removesuffix(", per step")


def _adapting(line: Line) -> str:
    return line.row["number"].text(line.row["adapting"]) + (EDGE if line.row["edge"] else "")


def _heldout(line: Line) -> str:
    return line.row["number"].text(line.row["heldout"]) if line.row["run"] else MISSING


def _papers(line: Line) -> str:
    value, words = line.row["paper"], line.row["paper_words"]
    return words or "" if value is None else number(value, line.row["number"].digits)


class ByPapersRow(BesidePaper):
    """A table with every row of a table of the paper, and ours where it was run.

    A subclass names the paper's table (``paper=``) and its numbers (`measures`), which are columns
    of the table of models.
    """

    declares: ClassVar = {"needs": ("adapting",), "paper": ""}
    measures: ClassVar[Measures]
    rule = (
        f"{COMPARED} The rate is that of the lowest error while adapting, for both columns. A "
        "dash: not run, diverged, a network of another size, or only words in the paper. No 100: "
        "the learner that counts as 100 % was not run on this network."
    )
    cells = (
        called("architecture", header="Net"),
        cell("Learner", _learner, align="l"),
        called("optimizer"),
        cell("n", lambda line: seeds(line.row["adapting"]), "Ours"),
        cell("Adapting", _adapting, "Ours"),
        cell("Held-out", _heldout, "Ours"),
        cell("", _papers, "Paper"),
        value("", "compared", str, align="l"),
    )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"{self.says} ±: half of the 95 % t interval over seeds. Rates stand in the .csv."

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        panels: dict[str, dict[tuple, Row]] = {}
        for place, row in enumerate(self.papers_rows):
            keys, name = condition(row), next((n for n in self.measures if n in row), None)
            words = _words(row)
            if keys is None or not (name or words):
                continue
            measure = self.measures[name or next(iter(self.measures))]
            value = row.get(name) if name and not measure.change else None
            ours = measured(rows, keys, measure)
            parts = (study.called(key, keys[key]) for key in ("task", "split") if key in keys)
            line = ours | {
                "number": measure,
                "measure": name,
                "paper": value,
                "paper_words": words or None,
                "paper_learning_rate": row.get("learning_rate"),
                "paper_place": row.get("place"),
                "compared": _said(study, ours, row, measure, value),
                "place": place,
            }
            # "best optimizer" and Adam are one line, where Adam is the best.
            panels.setdefault(", ".join(parts), {}).setdefault((*keys.items(), name, value), line)
        for title, lines in panels.items():
            yield title, list(lines.values())

    def record(self, row: Row, study: StudyFacts) -> Row:
        names = ("task", "architecture", "learner", "optimizer", "learning_rate", "edge")
        mean = row["adapting"] or Mean(None, n=None, diverged=None)
        record = {name: row[name] for name in names}
        record |= {"n_seeds": mean.n, "n_diverged": mean.diverged}
        for part in ("adapting", "heldout"):
            ends = (row[part] or Mean(None, None, None))[:3]
            record |= dict(zip((part, f"{part}_low", f"{part}_high"), ends, strict=True))
        names = ("run", "measure", "paper", "paper_words", "paper_learning_rate", "paper_place")
        return record | {name: row[name] for name in (*names, "compared", "place")}

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        cadence = "Learners without a cadence update at each step."
        return [cadence, *self.remarks, self.rule, *mark_notes(contents.panels)]

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        """The .csv twin, in the order of the paper's rows."""
        data = twin(contents.records, contents.rows, study)
        if contents.records:
            data = data.sort_values("place", ignore_index=True).drop(columns="place")
        return data


def _said(study: StudyFacts, ours: Row, row: Row, measure: Measure, value: float | None) -> str:
    """What the rule says of ours and the paper's number, or of ours and "adapts"."""
    if not ours["run"] or not same_size(study, ours["architecture"], row):
        return NOT_COMPARABLE
    mean = ours["heldout"] if measure.on_heldout else ours["adapting"]
    return adapts(mean) if measure.change else compared(mean, value, row.get("spread_percent"))


def _words(row: Row) -> str:
    """The paper's words in place of a number, or "" where it has none."""
    if row.get("diverged"):
        return "diverged"
    words = (v for k, v in row.items() if k.endswith("_text") and k != "ratio_text")
    return next(map(str, words), "")
