"""The drift of each pair of sessions in words and as a table: what they hold, what is lost."""

import re
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from orla.reports.cells import Cell, Row, cell, value
from orla.reports.numbers import estimate, is_missing, number
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import FEW_UPDATES
from orla.reports.words import DRIFT_MEASURES

# A loss whose interval lies below this is no drift worth following.
SMALL = 0.05
# Targets whose SD differ by more are perhaps in two units.
MOST_SPREAD = 3.0
# More pairs than these are counted, not told one by one.
MOST_SENTENCES = 3
_WORSE = " On {} it is worse than the mean: recovery has little meaning."
DECODER_NAMES = {"within_a": "within A", "within_b": "within B", "a_to_b": "A to B"}


class Drift(NamedTuple):
    """What the drift report says of one pair: its rows by measure, and then by where."""

    task: str
    pair: str
    a: str
    b: str
    score: str
    rows: dict[str, dict[str, dict[str, Any]]]

    def value(self, measure: str, row_key: str = "") -> float:
        """A measure's value; NaN where there is none."""
        return self.rows.get(measure, {}).get(row_key, {}).get("value", nan)

    def words(self, measure: str, row_key: str = "") -> str:
        """A measure's words; "" where there are none."""
        return self.rows.get(measure, {}).get(row_key, {}).get("words", "")

    def text(self, measure: str, row_key: str = "", **how: Any) -> str:
        """A measure with its interval."""
        row = self.rows.get(measure, {}).get(row_key, {})
        ends = (row.get(name, nan) for name in ("value", "low", "high"))
        return estimate(*ends, **{"digits": 2} | how)

    @property
    def best_lags(self) -> str:
        """The lags that decode session A best."""
        return max(self.rows["within_a"], key=lambda row_key: self.value("within_a", row_key))

    def sentence(self) -> str:
        """Whether there is a drift, how large, how much of it is of our making, and what is odd."""
        text, (a, b) = self._drift_clause(), (self.value("spread", side) for side in "ab")
        if max(a, b) > MOST_SPREAD * min(a, b):
            text += (
                f" The target of {self.b} varies {b / a if a else inf:,.3g} times as much as that "
                f"of {self.a}: are both in one unit?"
            )
        dates = [re.search(r"date (\S+)", self.words("about", side)) for side in "ab"]
        if all(dates) and dates[1][1] < dates[0][1]:
            text += f" {self.b} was recorded before {self.a}."
        return text

    def _drift_clause(self) -> str:
        """Whether there is a drift, how large, and how much of it is of our making."""
        lags, a, b = self.best_lags, self.a, self.b
        # R2 of the best constant on other data is far below zero; that is no bar to clear.
        chance = max(self.value("constant"), self.value("chance"), 0.0)
        advice = "Other features may tell more"
        for side, name, hint in (("a", a, ""), ("b", b, f", or the clocks of {b} differ")):
            if self.value(f"within_{side}", lags) - chance < SMALL:
                return (
                    f"Of a drift nothing can be said: even within {name} a ridge decoder has "
                    f"{self.score} {self.text(f'within_{side}', lags)}, and chance is "
                    f"{number(chance, 2)}. {advice}{hint}."
                )
        loss, low, high = (self.rows["loss"][lags][end] for end in ("value", "low", "high"))
        if low > 0:
            verdict = "There is a drift" if loss >= SMALL else "The drift is small"
        else:
            verdict = "No drift is seen" if high < SMALL else "Whether there is a drift is unclear"
        text = (
            f"{verdict}: a ridge decoder fitted on {a} has {self.score} {self.text('a_to_b', lags)}"
            f" on {b}, where one fitted on {b} has {self.text('within_b', lags)}, a loss of "
            f"{self.text('loss', lags, signed=True)}"
        )
        if "made" in self.rows:
            text += (
                f"; {'all of it may be' if self.value('made') >= loss else 'a part of it is'} of "
                "our making, since each session has components of its own: between the halves of "
                f"{a} they cost {self.text('made')}"
            )
        is_worse = self.value("a_to_b", lags) < self.value("constant")
        return f"{text}." + _WORSE.format(b) * is_worse


def drifts(frame: pd.DataFrame) -> Iterator[Drift]:
    """The pairs of the result drift_report, in their order."""
    for (task, pair), rows in frame.groupby(["task", "pair"], sort=False):
        by_measure: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows.to_dict("records"):
            by_measure.setdefault(row["measure"], {})[row["at"]] = row
        sessions = [by_measure.get("session", {}).get(side, {}).get("words", side) for side in "ab"]
        if scores_by_lag := by_measure.get("within_a"):
            score = next(iter(scores_by_lag.values()))["words"]
            yield Drift(task, pair, *sessions, score, by_measure)


def drift_sentences(frame: pd.DataFrame | None) -> list[str]:
    """Whether there is a drift: of each pair, or of many how many have one."""
    pairs = [] if frame is None else [(drift.pair, drift.sentence()) for drift in drifts(frame)]
    if len(pairs) <= MOST_SENTENCES:
        return [f"{pair}: {text}" if len(pairs) > 1 else text for pair, text in pairs]
    counts = pd.Series([text.partition(":")[0] for _, text in pairs]).value_counts(sort=False)
    return [f"{head}: {n} of {len(pairs)} pairs." for head, n in counts.items()]


def report_text(frame: pd.DataFrame, width: int = 100) -> str:
    """The report as plain text, for the terminal: a line a measure of each pair."""
    wrap = partial(textwrap.wrap, width=width, initial_indent="  ", subsequent_indent="    ")
    lines: list[str] = []
    for drift in drifts(frame):
        lines.append(f"A: {drift.a}, B: {drift.b} ({drift.task}, {drift.pair})")
        for measure, row_keys in drift.rows.items():
            words = "; ".join(_measure_text(drift, measure, row_key) for row_key in row_keys)
            lines += wrap(f"{DRIFT_MEASURES.get(measure, measure)}: {words}")
        lines += ["", *textwrap.wrap(drift.sentence(), width), ""]
    summary = drift_sentences(frame)
    return "\n".join([*lines, *(summary if len(summary) > 1 else [])])


def _measure_text(drift: Drift, measure: str, row_key: str) -> str:
    """A measure of a pair at one place, as the report for the terminal has it."""
    words, size = drift.words(measure, row_key), drift.value(measure, row_key)
    if measure == "registration":
        return f"{row_key} cannot be answered: {words}" if words else f"{row_key} can be answered"
    text = f"{size:,.0f}" if size > FEW_UPDATES else drift.text(measure, row_key)
    few = ", too few to tell" if measure == "updates" and size < FEW_UPDATES else ""
    return " ".join(filter(None, (row_key, "" if is_missing(size) else text, words))) + few


def _column(header: str, text: Callable[[Drift], str], group: str = "", align: str = "r") -> Cell:
    return cell(header, lambda line: text(line.row["drift"]), group, align)


def _between_and_within_column(header: str, measure: str) -> Cell:
    """A measure between the sessions over the same within A."""
    measures = (measure, f"{measure}_within")
    return _column(
        header, lambda d: "{}\n({})".format(*(number(d.value(p), 2) for p in measures)), "Inputs"
    )


def _score_column(header: str, measure: str) -> Cell:
    """A score with its interval, at the lags that decode A best; one without lags by itself."""

    def text(drift: Drift) -> str:
        lags = drift.best_lags if drift.best_lags in drift.rows.get(measure, {}) else ""
        return drift.text(measure, lags).replace(" [", "\n[")

    return _column(header, text, "Decoder")


def _sessions_text(drift: Drift) -> str:
    sides = zip("ab", (drift.a, drift.b), strict=True)
    return "\n".join(f"{name} ({drift.value('seconds', side):.0f} s)" for side, name in sides)


class DriftReport(
    Table, name="drift_report", label="The sessions and their drift", chapter="sessions", order=10,
    needs=("drift_report",),
):  # fmt: skip
    """What each pair of sessions holds, and how far a decoder fitted on A is good for B."""

    says = """Sessions A (to pretrain on) and B (to adapt to) of each pair. A ridge decoder of the
    last steps (as many as decode A best) is fitted on A or on B, and scored, fixed, on steps that
    the study scores: R², or accuracy of categories. Lost: the score of a decoder fitted on B less
    that of A's, on the same steps, of B's longest adapt part; brackets: 95 % jackknife interval
    over stretches of B. By us: what of the loss comes of components of each session's own.
    Ceiling: what the decoder refitted on B recovers of its own loss. Inputs: median shift of their
    means in standard deviations, and correlation of their tuning; in parentheses the same within
    A."""
    empty = False
    layout: ClassVar = {"widest": 7, "fixed_columns": 2}
    cells = (
        value("Pair", "name", str, align="l"),
        _column("Sessions", _sessions_text, align="l"),
        _column(
            "Inputs", lambda d: f"{number(d.value('inputs', 'a'), 0)} {d.words('inputs', 'a')}"
        ),
        _between_and_within_column("Shift (SD)", "inputs_moved"),
        _between_and_within_column("Tuning r", "tuning"),
        _column("Within A", lambda d: number(d.value("within_a", d.best_lags), 2), "Decoder"),
        _score_column("Within B", "within_b"),
        _score_column("A to B", "a_to_b"),
        _score_column("Lost", "loss"),
        _score_column("By us", "made"),
        _column("Ceiling\n(%)", lambda d: number(d.value("ceiling"), 0), "Decoder"),
    )
    optional = ("By us",)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        pairs = ((drift, drift.pair or study.called("task", drift.task)) for drift in drifts(rows))
        yield "", [{"drift": drift, "name": name} for drift, name in pairs]

    def csv_row(self, row: Row, study: StudyFacts) -> Row:
        """A pair, with every measure and its ends as columns; the result has them a row each."""
        drift, columns = row["drift"], {"task": row["drift"].task, "pair": row["drift"].pair}
        for measure, entries in drift.rows.items():
            for row_key, entry in entries.items():
                name = f"{measure}_{row_key}".strip("_")
                if measure in ("session", "recording", "about", "kept", "correspondence"):
                    columns[name] = entry["words"]
                else:
                    columns[name] = entry["value"]
                    ends = {f"{name}_{end}": entry[end] for end in ("low", "high")}
                    columns |= {end: number for end, number in ends.items() if number == number}
        return columns

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        """A sentence on each pair, or how many drift; what else the sessions' files say."""
        pairs, lines = list(drifts(results[0])), drift_sentences(results[0])
        for drift in pairs if len(pairs) <= MOST_SENTENCES else ():
            for side, name in zip("ab", (drift.a, drift.b), strict=True):
                words = (drift.words(measure, side) for measure in ("recording", "about", "kept"))
                lines += [f"{name}: {text}" for text in words if text]
            if text := drift.words("correspondence"):
                lines.append(f"{drift.pair}: {text}.")
        return list(dict.fromkeys(lines))
