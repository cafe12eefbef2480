"""The drift report in words: what two sessions hold, and whether there is a drift to follow."""

import re
import textwrap
from collections.abc import Iterator
from functools import partial
from math import inf, nan
from typing import Any, NamedTuple

import pandas as pd

from orla.reports.numbers import estimate, is_missing, number
from orla.reports.tables.shared import FEW_UPDATES

# A loss whose interval lies below this is no drift worth following.
SMALL = 0.05
# Targets whose SD differ by more are perhaps in two units.
MOST_SPREAD = 3.0
# More pairs than these are counted, not told one by one.
MOST_TOLD = 3
DECODED = {"within_a": "within A", "within_b": "within B", "a_to_b": "A to B"}


class Drift(NamedTuple):
    """What the drift report says of one pair: its rows by measure, and then by where."""

    task: str
    pair: str
    a: str
    b: str
    score: str
    rows: dict[str, dict[str, dict[str, Any]]]

    def value(self, measure: str, at: str = "") -> float:
        """A measure's value; NaN where there is none."""
        return self.rows.get(measure, {}).get(at, {}).get("value", nan)

    def words(self, measure: str, at: str = "") -> str:
        """A measure's words; "" where there are none."""
        return self.rows.get(measure, {}).get(at, {}).get("words", "")

    def text(self, measure: str, at: str = "", **how: Any) -> str:
        """A measure with its interval."""
        row = self.rows.get(measure, {}).get(at, {})
        ends = (row.get(name, nan) for name in ("value", "low", "high"))
        return estimate(*ends, **{"digits": 2} | how)

    @property
    def best_lags(self) -> str:
        """The lags that decode session A best."""
        return max(self.rows["within_a"], key=lambda at: self.value("within_a", at))

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
        at, a, b = self.best_lags, self.a, self.b
        # R2 of the best constant on other data is far below zero; that is no bar to clear.
        chance = max(self.value("constant"), self.value("chance"), 0.0)
        mend = "Other features may tell more"
        for side, name, more in (("a", a, ""), ("b", b, f", or the clocks of {b} differ")):
            if self.value(f"within_{side}", at) - chance < SMALL:
                return (
                    f"Of a drift nothing can be said: even within {name} a ridge decoder has "
                    f"{self.score} {self.text(f'within_{side}', at)}, and chance is "
                    f"{number(chance, 2)}. {mend}{more}."
                )
        loss, low, high = (self.rows["loss"][at][end] for end in ("value", "low", "high"))
        if low > 0:
            verdict = "There is a drift" if loss >= SMALL else "The drift is small"
        else:
            verdict = "No drift is seen" if high < SMALL else "Whether there is a drift is unclear"
        ours, worse = "", ""
        if "made" in self.rows:
            ours = (
                f"; {'all of it may be' if self.value('made') >= loss else 'a part of it is'} of "
                "our making, since each session has components of its own: between the halves of "
                f"{a} they cost {self.text('made')}"
            )
        if self.value("a_to_b", at) < self.value("constant"):
            worse = f" On {b} it is worse than the mean: recovery has little meaning."
        return (
            f"{verdict}: a ridge decoder fitted on {a} has {self.score} {self.text('a_to_b', at)} "
            f"on {b}, where one fitted on {b} has {self.text('within_b', at)}, a loss of "
            f"{self.text('loss', at, signed=True)}{ours}.{worse}"
        )


def drifts(frame: pd.DataFrame) -> Iterator[Drift]:
    """The pairs of the result drift_report, in their order."""
    for (task, pair), rows in frame.groupby(["task", "pair"], sort=False):
        by_measure: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows.to_dict("records"):
            by_measure.setdefault(row["measure"], {})[row["at"]] = row
        named = [by_measure.get("session", {}).get(side, {}).get("words", side) for side in "ab"]
        if decoded := by_measure.get("within_a"):
            score = next(iter(decoded.values()))["words"]
            yield Drift(task, pair, *named, score, by_measure)


def drift_sentences(frame: pd.DataFrame | None) -> list[str]:
    """Whether there is a drift: of each pair, or of many how many have one."""
    pairs = [] if frame is None else [(drift.pair, drift.sentence()) for drift in drifts(frame)]
    if len(pairs) <= MOST_TOLD:
        return [f"{pair}: {text}" if len(pairs) > 1 else text for pair, text in pairs]
    counts = pd.Series([text.partition(":")[0] for _, text in pairs]).value_counts(sort=False)
    return [f"{head}: {n} of {len(pairs)} pairs." for head, n in counts.items()]


def report_text(frame: pd.DataFrame, width: int = 100) -> str:
    """The report as plain text, for the terminal: a line a measure of each pair."""
    wrap = partial(textwrap.wrap, width=width, initial_indent="  ", subsequent_indent="    ")
    lines: list[str] = []
    for drift in drifts(frame):
        lines.append(f"A: {drift.a}, B: {drift.b} ({drift.task}, {drift.pair})")
        for measure, places in drift.rows.items():
            words = "; ".join(_measure_text(drift, measure, at) for at in places)
            lines += wrap(f"{measure.replace('_', ' ')}: {words}")
        lines += ["", *textwrap.wrap(drift.sentence(), width), ""]
    summary = drift_sentences(frame)
    return "\n".join([*lines, *(summary if len(summary) > 1 else [])])


def _measure_text(drift: Drift, measure: str, at: str) -> str:
    """A measure of a pair at one place, as the report for the terminal has it."""
    words, size = drift.words(measure, at), drift.value(measure, at)
    if measure == "registration":
        return f"{at} cannot be answered: {words}" if words else f"{at} can be answered"
    text = f"{size:,.0f}" if size > FEW_UPDATES else drift.text(measure, at)
    few = ", too few to tell" if measure == "updates" and size < FEW_UPDATES else ""
    return " ".join(filter(None, (at, "" if is_missing(size) else text, words))) + few
