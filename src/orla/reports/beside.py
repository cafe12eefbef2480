"""Tables beside the paper's: by conditions, or by the rows of one of its tables."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from orla.reports import comparison, paper_rows
from orla.reports.cells import Cell, Line, Row, called, cell, value
from orla.reports.numbers import MISSING, number
from orla.reports.paper import load, stand_ins
from orla.reports.study import StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import EDGE, mark_notes, twin
from orla.results.estimands import ESTIMANDS
from orla.study.keys import DEFAULTS, KEYS

CELLS = (
    "First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the "
    "paper's number."
)


RATES = (
    "Numbers over the adapt part: at the rate, of those tried, that is best on it, as the paper "
    "chose. Held out: at the rate selected before."
)
LAST = (
    "Last tenth: the mean over the last tenth of the adapt part, while learning. The paper does "
    "not say over which steps its error after the change is a mean."
)
RATES_HELDOUT = " Where the paper's number is held out, ours while adapting is at that rate too."


class BesidePaper(Table):
    """A table with the paper's numbers, which a study that does not reproduce it leaves out."""

    layout: ClassVar = {"size": "scriptsize"}
    remarks: ClassVar[tuple[str, ...]] = ()
    rule: ClassVar[str] = (
        f"{comparison.COMPARED} Neither: not run, diverged, or a network of another size."
    )

    @cached_property
    def papers_rows(self) -> list[dict[str, Any]]:
        """The paper's rows."""
        return load().table(self.part.more["paper"])

    def papers_values(self, column: str) -> list[Any]:
        """What the paper's rows have in a column, each once."""
        return list(dict.fromkeys(row[column] for row in self.papers_rows))

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        pairs = paper_rows.notes_on_pairs(record["pair"] for record in contents.records)
        return [*self.remarks, *pairs, self.rule, *reasons(contents.records)]

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        return twin(contents.records, pd.DataFrame(columns=list(KEYS)), study)

    def ran(self, contents: Contents, study: StudyFacts) -> bool:
        return study.reproduces and any(record["run"] for record in contents.records)


class ByCondition(BesidePaper):
    """A line a condition: the study's, with the paper's row of it, and those not run.

    A subclass gives the study's `conditions`, and may say what sets panels apart (`panel_by`) and
    by which columns the paper's row is found (`given`).
    """

    panel_by: ClassVar[tuple[str, ...]] = ()
    given: ClassVar[tuple[str, ...]] = paper_rows.GIVEN

    @abstractmethod
    def conditions(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The study's conditions, as `orla.reports.comparison.by_condition` gives them."""

    def rows(self, *needed: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        conditions = self.conditions(*needed, study=study)
        means = comparison.means_by_keys(needed[-1])
        return paper_rows.beside_paper(conditions, self.papers_rows, study, means, self.given)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        if self.panel_by:
            groups = paper_rows.titled(study, rows, self.panel_by)
        else:
            groups = paper_rows.ran_first((title, group) for title, _, group in study.groups(rows))
        for title, group in groups:
            yield title, group.to_dict("records")


def reasons(records: Iterable[Row]) -> list[str]:
    """Why numbers of these rows of the .csv are not comparable, each reason once."""
    said = [r["not_comparable"] for r in records if comparison.NOT_COMPARABLE in r.values()]
    return [f"Not comparable: {reason}" for reason in dict.fromkeys(said)]


class Measure(NamedTuple):
    """Our columns of a number of the paper, and the digits after the point that both show.

    on_heldout: whether the paper's number, too, is of the held-out part.
    last: the column over the last tenth of the adapt part, where there is one.
    lower: whether a lower number is better.
    """

    adapting: str
    heldout: str
    digits: int = 1
    on_heldout: bool = False
    last: str = ""
    lower: bool = False

    def text(self, ours: comparison.Mean | None) -> str:
        """Ours as a cell; none, too, where the learner that counts as 100 was not run."""
        return comparison.mean_text(ours, self.digits, without="no 100")


# By the paper's name of the number.
Measures = Mapping[str, Measure]
VS_RTRL = Measure("adapt_vs_best_rtrl_percent", "heldout_vs_best_rtrl_percent")


def errors(digits: int) -> Measures:
    """The mean squared error."""
    last = "last_adapt_error"
    return {"mse": Measure("adapt_error", "heldout_error", digits, last=last, lower=True)}


def condition(row: Row) -> dict[str, str] | None:
    """Key columns of a row's condition, of the best one without "optimizer"; or None."""
    if any(row.get(key) is None for key in ("task", "architecture", "learner")):
        return None
    names = ("task", "architecture", "learner", "optimizer", "precision", "split")
    return {name: row[name] for name in names if row.get(name) is not None}


def measured(models: pd.DataFrame, keys: Row, measure: Measure) -> dict[str, Any]:
    """Ours for a condition, over its seeds: optimizer, rate, edge and means, where it ran.

    What is of the adapt part is at the rate that is best there, as the paper chose; what is held
    out is at the selected rate. Where the paper's number is held out, all is. Without "optimizer"
    it is the one with the lowest mean error, of those errors that the rate was chosen by.
    """
    wanted = {c: value for c, value in (DEFAULTS | dict(keys)).items() if c in models}
    rows = where(models, **wanted)
    ours = dict.fromkeys(("optimizer", "learning_rate", "edge"))
    if rows.empty:
        means = dict.fromkeys(("adapting", "heldout", "last"))
        return ours | keys | means | {"run": False}
    selected = rows[rows["selected"].astype(bool)]
    learned = selected if measure.on_heldout else rows[_best_on_adapt(rows)]
    if "optimizer" not in keys:
        part = "heldout" if measure.on_heldout else "adapt"
        error = learned[ESTIMANDS[part].validation]
        means = error.astype(float).fillna(np.inf).groupby(learned["optimizer"]).mean()
        rows, selected, learned = (
            r[r["optimizer"] == means.idxmin()] for r in (rows, selected, learned)
        )
    rate, tried = learned["learning_rate"].iloc[0], rows["learning_rate"]
    last = measure.last and learned[measure.last].notna().any()
    # A frozen network has no rate, and no edge.
    ends = (tried.min(), tried.max()) if tried.nunique() > 1 else ()
    edge = selected["edge"].any() if measure.on_heldout else rate in ends
    return {
        **keys,
        "optimizer": learned["optimizer"].iloc[0],
        "learning_rate": rate,
        "edge": bool(edge),
        "adapting": _mean(learned, measure.adapting, "adapt", measure.lower),
        "heldout": _mean(selected, measure.heldout, "heldout", measure.lower),
        "last": _mean(learned, measure.last, "adapt", measure.lower) if last else None,
        "run": True,
    }


def _best_on_adapt(models: pd.DataFrame) -> np.ndarray:
    """Which models (rows,) are at the rate with the lowest mean error over the adapt part.

    A diverged model's error counts as infinite; of equal rates the smallest is taken.
    """
    by = [*KEYS, "learning_rate"]
    errors = models["adapt_error"].astype(float).fillna(np.inf)
    means = errors.groupby([models[key] for key in by], sort=True).mean().reset_index()
    best = means.sort_values([*KEYS, "adapt_error", "learning_rate"]).drop_duplicates([*KEYS])
    return pd.MultiIndex.from_frame(models[by]).isin(pd.MultiIndex.from_frame(best[by]))


def _mean(models: pd.DataFrame, column: str, part: str, lower: bool) -> comparison.Mean:
    """Over seeds, with those that are worse than the frozen network on that part."""
    lost = models["diverged"].astype(bool)
    values = models[column].astype(float).where(~lost)
    error = values if column.endswith("_error") else models[f"{part}_error"]
    worse = lost | (error > models[f"frozen_{part}_error"])
    ordered = values.where(~lost, np.inf if lower else -np.inf)
    mean = comparison.mean_of(values, int(lost.sum()))
    return mean._replace(worse=int(worse.sum()), median=float(ordered.median()))


def _learner(line: Line) -> str:
    return line.study.called("learner", line.row["learner"]).removesuffix(", per step")


def _adapting(line: Line) -> str:
    return line.row["number"].text(line.row["adapting"]) + (EDGE if line.row["edge"] else "")


def _of(name: str) -> Callable[[Line], str]:
    """A cell of another of our means, over what the rule says of it."""

    def text(line: Line) -> str:
        row = line.row
        if not row["run"] or row[name] is None:
            return MISSING
        answer = row.get(f"compared_{name}", comparison.NO_ANSWER)
        second = "" if answer == comparison.NO_ANSWER else f"\n({answer})"
        return row["number"].text(row[name]) + second

    return text


def _papers(line: Line) -> str:
    value, words = line.row["paper"], line.row["paper_words"]
    return words or "" if value is None else number(value, line.row["number"].digits)


class ByPapersRow(BesidePaper):
    """A table with every row of a table of the paper, and ours where it was run.

    Attributes:
        measures: the paper's numbers, which are columns of the table of models.
        further: our other readings of the paper's number, each with a column of its own, its answer
            below: name in `measured` or `more` -> header.
    """

    declares: ClassVar = {"needs": ("lr_curves",), "paper": ""}
    measures: ClassVar[Measures]
    further: ClassVar[Mapping[str, str]] = {}
    rule = (
        f"{comparison.COMPARED} A dash: not run, diverged, a network of another size, or only "
        "words in the paper. No 100: the learner that counts as 100 % was not run on this network."
    )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        return (
            called("architecture", header="Net"),
            cell("Learner", _learner, align="l"),
            called("optimizer"),
            cell("n", lambda line: comparison.seeds(line.row["adapting"]), "Ours"),
            cell("Adapting", _adapting, "Ours"),
            *(cell(header, _of(name), "Ours") for name, header in self.further.items()),
            cell("Held-out", _of("heldout"), "Ours"),
            cell("", _papers, "Paper"),
            value("", "compared", str, align="l"),
        )

    def more(
        self, models: pd.DataFrame, keys: Row, measure: Measure
    ) -> dict[str, comparison.Mean | None]:
        """Means of `further` that `measured` does not give."""
        return {}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return f"{self.says} ±: half of the 95 % t interval over seeds. Rates stand in the .csv."

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        panels: dict[str, dict[tuple, Row]] = {}
        papers = (one for row in self.papers_rows for one in stand_ins(row))
        for place, row in enumerate(papers):
            keys, name = condition(row), next((n for n in self.measures if n in row), None)
            words = _words(row)
            if keys is None or not (name or words):
                continue
            measure = self.measures[name or next(iter(self.measures))]
            value = row.get(name) if name else None
            ours = measured(rows, keys, measure)
            ours |= self.more(rows, {**keys, "optimizer": ours["optimizer"]}, measure)
            readings = {"compared": "heldout" if measure.on_heldout else "adapting"}
            readings |= {f"compared_{name}": name for name in self.further}
            parts = (study.called(key, keys[key]) for key in ("task", "split") if key in keys)
            line = ours | {
                "number": measure,
                "measure": name,
                "paper": value,
                "paper_words": words or None,
                "paper_learning_rate": row.get("learning_rate"),
                "paper_place": row.get("place"),
                "not_comparable": row.get("not_comparable", ""),
                "place": place,
            }
            for answer, reading in readings.items():
                line[answer] = _said(study, ours, ours[reading], row, value)
            # "best optimizer" and Adam are one line, where Adam is the best.
            panels.setdefault(", ".join(parts), {}).setdefault((*keys.items(), name, value), line)
        for title, lines in panels.items():
            yield title, list(lines.values())

    def record(self, row: Row, study: StudyFacts) -> Row:
        names = ("task", "architecture", "learner", "optimizer", "learning_rate", "edge")
        mean = row["adapting"] or comparison.Mean(None, n=None, diverged=None)
        record = {name: row[name] for name in names}
        record |= {"n_seeds": mean.n, "n_diverged": mean.diverged}
        for part in ("adapting", *self.further, "heldout"):
            mean = row[part] or comparison.Mean(None, None, None, worse=None)
            median = mean.median if np.isfinite(mean.median) else None
            record |= dict(zip((part, f"{part}_low", f"{part}_high"), mean[:3], strict=True))
            record |= {f"{part}_median": median, f"{part}_n_worse": mean.worse}
        names = ("run", "measure", "paper", "paper_words", "paper_learning_rate", "paper_place")
        answers = ("compared", *(f"compared_{name}" for name in self.further), "not_comparable")
        return record | {name: row[name] for name in (*names, *answers, "place")}

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        cadence = "Learners without a cadence update at each step."
        heldout = any(measure.on_heldout for measure in self.measures.values())
        rates = RATES + (RATES_HELDOUT if heldout else "")
        told = [*self.remarks, self.rule, comparison.WORSE, *reasons(contents.records)]
        return [cadence, rates, *told, *mark_notes(contents.panels)]

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        """The .csv twin, in the order of the paper's rows."""
        data = twin(contents.records, contents.rows, study)
        if contents.records:
            data = data.sort_values("place", ignore_index=True).drop(columns="place")
        return data


def _said(
    study: StudyFacts, ours: Row, mean: comparison.Mean | None, row: Row, value: float | None
) -> str:
    """What the rule says of one of our means and the paper's number."""
    size = ours["run"] and paper_rows.same_size(study, ours["architecture"], row)
    if mean is None or not size:
        return comparison.NO_ANSWER
    if row.get("not_comparable"):
        return comparison.NOT_COMPARABLE
    return comparison.compared(mean, value, row.get("spread_percent"))


def _words(row: Row) -> str:
    """The paper's words in place of a number, or "" where it has none."""
    if row.get("diverged"):
        return "diverged"
    words = (v for k, v in row.items() if k.endswith("_text") and k != "ratio_text")
    return next(map(str, words), "")
