"""Tables with every row of a table of the paper, and ours where it was run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.reports import comparison
from orla.reports.beside import BesidePaper
from orla.reports.cells import Cell, Line, Row, cell, part_name, value
from orla.reports.comparison import NO_ANSWER, Mean
from orla.reports.numbers import MISSING, number
from orla.reports.paper import stand_in_rows
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import EDGE, mark_notes
from orla.results.estimands import ESTIMANDS
from orla.study.keys import DEFAULTS

LAST = """Last tenth: the mean over the last tenth of the adapt part, while learning. The paper does
not say over which steps its error after the change is a mean."""
_RATES = """Numbers over the adapt part: at the rate, of those tried, that is best on it, as the
paper chose. Held out: at the rate selected before."""
_RATES_HELDOUT = " Where the paper's number is held out, ours while adapting is at that rate too."
_CONDITION = ("task", "architecture", "learner", "optimizer", "precision", "split")


class Measure(NamedTuple):
    """Our columns of a number of the paper, and the digits after the point that both show.

    on_heldout: whether the paper's number, too, is of the held-out part.
    lower: whether a lower number is better.
    """

    adapting: str
    heldout: str
    digits: int = 1
    on_heldout: bool = False
    lower: bool = False


VS_RTRL = Measure("adapt_vs_best_rtrl_percent", "heldout_vs_best_rtrl_percent")


class ByPapersRow(BesidePaper):
    """A table with every row of a table of the paper, and ours where it was run.

    Attributes:
        measures: the paper's name of a number -> columns of the table of models.
        further: our other readings of the paper's number, each with a column of its own, its answer
            below: name in `measured` -> header.
    """

    declares: ClassVar = {"needs": ("lr_curves",), "paper": ""}
    measures: ClassVar[Mapping[str, Measure]]
    further: ClassVar[Mapping[str, str]] = {}
    rule = f"""{comparison.RULE} A dash: not run, diverged, a network of another size, or only
    words in the paper. No 100: the learner that counts as 100 % was not run on this network."""

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        return (
            part_name("architecture", header="Net"),
            value("Learner", "called", str, align="l"),
            part_name("optimizer"),
            cell("n", lambda line: comparison.seeds_text(line.row["adapting"]), "Ours"),
            cell("Adapting", lambda o: _our_mean_text(o.row, "adapting") + o.row["mark"], "Ours"),
            *(_our_mean_column(header, name) for name, header in self.further.items()),
            _our_mean_column("Held-out", "heldout"),
            value("", "paper_text", str, "Paper"),
            value("", "compared", str, align="l"),
        )

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"{self.says} ±: half of the 95 % t interval over seeds. Rates stand in the .csv."

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        panels: dict[str, dict[tuple, Row]] = {}
        papers = (stand_in for row in self.papers_rows for stand_in in stand_in_rows(row))
        for paper_row_index, row in enumerate(papers):
            keys, words = condition_keys(row), _papers_words(row)
            name = next((n for n in self.measures if n in row), None)
            if keys is None or not (name or words):
                continue
            measure = self.measures[name or next(iter(self.measures))]
            line = our_rate_and_means(rows, keys, measure) | {
                "number": measure,
                "measure": name,
                "paper": row.get(name),
                "paper_words": words or None,
                "paper_text": number(row[name], measure.digits) if name else words,
                "called": study.called("learner", keys["learner"]).removesuffix(", per step"),
                "paper_learning_rate": row.get("learning_rate"),
                "paper_place": row.get("place"),
                "not_comparable": row.get("not_comparable", ""),
                "place": paper_row_index,
            }
            line["mark"] = EDGE * bool(line["edge"])
            readings = {f"compared_{reading}": reading for reading in self.further}
            readings["compared"] = "heldout" if measure.on_heldout else "adapting"
            line |= {n: _agreement(study, line, row, reading) for n, reading in readings.items()}
            title = ", ".join(study.called(k, keys[k]) for k in ("task", "split") if k in keys)
            # "best optimizer" and Adam are one line, where Adam is the best.
            line_key = (*keys.items(), name, line["paper"])
            panels.setdefault(title, {}).setdefault(line_key, line)
        for title, lines in panels.items():
            yield title, list(lines.values())

    def csv_row(self, row: Row, study: StudyFacts) -> Row:
        no_mean = Mean(None, None, None, None, None, None)
        mean = row["adapting"] or no_mean
        names = ("task", "architecture", "learner", "optimizer", "learning_rate", "edge")
        record = {name: row[name] for name in names}
        record |= {"n_seeds": mean.n, "n_diverged": mean.diverged}
        for part in ("adapting", *self.further, "heldout"):
            mean = row[part] or no_mean
            median = mean.median if np.isfinite(mean.median) else None
            record |= {part: mean.value, f"{part}_low": mean.low, f"{part}_high": mean.high}
            record |= {f"{part}_median": median, f"{part}_n_worse": mean.worse}
        names = ("run", "measure", "paper", "paper_words", "paper_learning_rate", "paper_place")
        compared = ("compared", *(f"compared_{name}" for name in self.further))
        return record | {n: row[n] for n in (*names, *compared, "not_comparable", "place")}

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        cadence = "Learners without a cadence update at each step."
        heldout = any(measure.on_heldout for measure in self.measures.values())
        rest = [_RATES + _RATES_HELDOUT * heldout, *self.quoted_remarks(), self.rule]
        rest.append(comparison.WORSE)
        return [cadence, *rest, *self.reason_notes(contents.records), *mark_notes(contents.panels)]

    def csv_table(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        data = Table.csv_table(self, contents, study)
        if contents.records:
            data = data.sort_values("place", ignore_index=True).drop(columns="place")
        return data


class ErrorsBesidePaper(ByPapersRow):
    """One whose numbers are squared errors, also over the last tenth of the adapt part."""

    digits: ClassVar[int]
    further: ClassVar = {"last": "Last tenth"}
    remarks = LAST

    @property
    def measures(self) -> Mapping[str, Measure]:
        return {"mse": Measure("adapt_error", "heldout_error", self.digits, lower=True)}


def condition_keys(row: Row) -> dict[str, str] | None:
    """Key columns of a row's condition, of the best one without "optimizer"; or None."""
    keys = {name: row[name] for name in _CONDITION if row.get(name) is not None}
    return keys if {"task", "architecture", "learner"} <= keys.keys() else None


def our_rate_and_means(models: pd.DataFrame, keys: Row, measure: Measure) -> dict[str, Any]:
    """Ours for a condition, over its seeds: optimizer, rate, edge and means, where it ran.

    What is of the adapt part is at the rate that is best there, as the paper chose; what is held
    out is at the selected rate. Where the paper's number is held out, all is. Without "optimizer"
    it is the one with the lowest mean error, of those errors that the rate was chosen by.
    Means: adapting, heldout, last (over the last tenth of the adapt part), and coarse, of models
    that the column "is_coarse" marks.
    """
    rows = where(models, **{c: value for c, value in (DEFAULTS | keys).items() if c in models})
    empty_columns = ("optimizer", "learning_rate", "edge", "adapting", "heldout", "last", "coarse")
    record = dict.fromkeys(empty_columns) | keys | {"run": not rows.empty}
    if rows.empty:
        return record
    estimand = ESTIMANDS["heldout" if measure.on_heldout else "adapt"]
    if "optimizer" not in keys:
        best = rows[rows[estimand.selected].astype(bool)]
        error = best[estimand.validation].astype(float).fillna(np.inf)
        rows = rows[rows["optimizer"] == error.groupby(best["optimizer"]).mean().idxmin()]
    best, selection = (rows[rows[c].astype(bool)] for c in (estimand.selected, "selected"))
    record |= {name: best[name].iloc[0] for name in ("optimizer", "learning_rate")}
    readings = {"adapting": (best, measure.adapting), "heldout": (selection, measure.heldout)}
    if measure.adapting == "adapt_error" and best["last_adapt_error"].notna().any():
        readings["last"] = best, "last_adapt_error"
    if "is_coarse" in rows and rows["is_coarse"].any():
        readings["coarse"] = rows[rows["is_coarse"]], measure.adapting
    for name, (selected_rows, column) in readings.items():
        part = "heldout" if name == "heldout" else "adapt"
        record[name] = _mean_over_seeds(selected_rows, column, part, measure.lower)
    several = measure.on_heldout or rows["learning_rate"].nunique() > 1
    return record | {"edge": bool(several and best[estimand.edge].any())}


def _mean_over_seeds(models: pd.DataFrame, column: str, part: str, lower_is_better: bool) -> Mean:
    """The mean over seeds, and how many are worse than the frozen network on that part."""
    has_diverged = models["diverged"].astype(bool)
    values = models[column].astype(float).where(~has_diverged)
    error = values if column.endswith("_error") else models[f"{part}_error"]
    worse = has_diverged | (error > models[f"frozen_{part}_error"])
    ordered_values = values.where(~has_diverged, np.inf if lower_is_better else -np.inf)
    mean = comparison.mean_of(values, int(has_diverged.sum()))
    return mean._replace(worse=int(worse.sum()), median=float(ordered_values.median()))


def _our_mean_text(row: Row, name: str) -> str:
    """One of our means; without any where the learner that counts as 100 was not run."""
    return comparison.mean_text(row[name], row["number"].digits, without="no 100")


def _our_mean_column(header: str, name: str) -> Cell:
    """A column of another of our means, over what the rule says of it."""

    def text(line: Line) -> str:
        if not line.row["run"] or line.row[name] is None:
            return MISSING
        answer = line.row.get(f"compared_{name}", NO_ANSWER)
        return _our_mean_text(line.row, name) + ("" if answer == NO_ANSWER else f"\n({answer})")

    return cell(header, text, "Ours")


def _agreement(study: StudyFacts, line: Row, row: Row, reading: str) -> str:
    """What the rule says of one of our means and the paper's number."""
    if line[reading] is None or not comparison.same_size(study, line["architecture"], row):
        return NO_ANSWER
    if row.get("not_comparable"):
        return comparison.NOT_COMPARABLE
    return comparison.agreement(line[reading], line["paper"], row.get("spread_percent"))


def _papers_words(row: Row) -> str:
    """The paper's words in place of a number, or "" where it has none."""
    if row.get("diverged"):
        return "diverged"
    words = (v for k, v in row.items() if k.endswith("_text") and k != "ratio_text")
    return next(map(str, words), "")
