"""The drift report in words: what two sessions hold, and whether there is a drift to follow."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd

from orla.reports.numbers import estimate, is_missing, number
from orla.reports.tables.shared import FEW_UPDATES
from orla.reports.words import phrase

# A loss whose interval lies below this is no drift worth following.
SMALL = 0.05
# More pairs than these are counted, not told one by one.
MOST_TOLD = 3
DECODED = {"within_a": "within A", "within_b": "within B", "a_to_b": "A to B"}


class Drift(NamedTuple):
    """What the drift report says of one pair.

    Fields: task, pair; the sessions' names; the score that is decoded, "R²" or "accuracy"; rows of
    the result by measure, and then by where.
    """

    task: str
    pair: str
    a: str
    b: str
    score: str
    rows: dict[str, dict[str, dict[str, Any]]]

    def value(self, measure: str, at: str = "") -> float:
        """A measure's value; NaN where there is none."""
        return self.rows.get(measure, {}).get(at, {}).get("value", float("nan"))

    def words(self, measure: str, at: str = "") -> str:
        """A measure's words; "" where there are none."""
        return self.rows.get(measure, {}).get(at, {}).get("words", "")

    def told(self, measure: str, at: str = "", **how: Any) -> str:
        """A measure with its interval."""
        row = self.rows.get(measure, {}).get(at, {})
        ends = (row.get(name, float("nan")) for name in ("value", "low", "high"))
        return estimate(*ends, **{"digits": 2} | how)

    @property
    def lags(self) -> list[str]:
        """Numbers of lags that were tried."""
        return list(self.rows["within_a"])

    @property
    def best(self) -> str:
        """The lags that decode session A best."""
        return max(self.lags, key=lambda at: self.value("within_a", at))

    def sentence(self) -> str:
        """Whether there is a drift, how large, and how much of it is of our making."""
        at, a, b = self.best, self.a, self.b
        low, high = (self.rows["loss"][at][end] for end in ("low", "high"))
        if low > 0:
            found = "There is a drift" if self.value("loss", at) >= SMALL else "The drift is small"
        else:
            found = "No drift is seen" if high < SMALL else "Whether there is a drift is unclear"
        within, across = self.told("within_b", at), self.told("a_to_b", at)
        kept = f"{self.score} {across} on {b}, where one fitted on {b} has {within}"
        said = (
            f"{found}: a ridge decoder fitted on {a} has {kept}, a loss of "
            f"{self.told('loss', at, signed=True)}"
        )
        if "made" in self.rows:
            every = self.value("made") >= self.value("loss", at)
            said += (
                f"; {'all of it may be' if every else 'a part of it is'} of our making, since each "
                f"session has components of its own: between the halves of {a} they cost "
                f"{self.told('made')}"
            )
        said += "."
        chance = max(self.value("constant"), self.value("chance"))
        if self.value("within_a", at) - chance < SMALL:
            return (
                f"Of a drift nothing can be said: even within {a} a ridge decoder has "
                f"{self.score} {self.told('within_a', at)}, and chance is {number(chance, 2)}. "
                "Other features may tell more."
            )
        if self.value("a_to_b", at) < self.value("constant"):
            said += f" On {b} it is worse than the mean: recovery has little meaning."
        return said


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


def sentences(frame: pd.DataFrame | None) -> list[str]:
    """Whether there is a drift: of each pair, or of many how many have one."""
    told = [] if frame is None else list(drifts(frame))
    if len(told) <= MOST_TOLD:
        named = len(told) > 1
        return [
            f"{drift.pair}: {drift.sentence()}" if named else drift.sentence() for drift in told
        ]
    heads = pd.Series([drift.sentence().partition(":")[0] for drift in told])
    counts = heads.value_counts(sort=False)
    return [f"{head}: {n} of {len(told)} pairs." for head, n in counts.items()]


def text(frame: pd.DataFrame, width: int = 100) -> str:
    """The report as plain text, for the terminal."""
    lines: list[str] = []
    for drift in drifts(frame):
        lines += [f"{drift.a} to {drift.b} ({drift.task}, {drift.pair})", *_sessions(drift)]
        lines += [
            *_decoders(drift),
            *_study(drift),
            "",
            *textwrap.wrap(drift.sentence(), width),
            "",
        ]
    summary = sentences(frame)
    return "\n".join([*lines, *(summary if len(summary) > 1 else [])])


def _sessions(drift: Drift) -> Iterator[str]:
    rows = {
        "seconds": [f"{drift.value('seconds', side):.0f}" for side in "ab"],
        "steps scored": [f"{100 * drift.value('scored', side):.0f} %" for side in "ab"],
        "inputs": [
            f"{drift.value('inputs', side):.0f} {drift.words('inputs', side)}" for side in "ab"
        ],
    }
    yield f"  {'':24}{'A: ' + drift.a:>24}{'B: ' + drift.b:>24}"
    for name, cells in rows.items():
        yield f"  {name:24}" + "".join(f"{cell:>24}" for cell in cells)
    for measure, what in (("recording", "is"), ("about", "has"), ("kept", "kept")):
        for side in "AB":
            if said := drift.words(measure, side.lower()):
                yield from _wrapped(f"{side} {what} {said}")
    if said := drift.words("correspondence"):
        yield from _wrapped(said)
    yield (
        f"  inputs moved by {number(drift.value('inputs_moved'), 2)} SD (median; within A "
        f"{number(drift.value('inputs_moved_within'), 2)}); their tuning correlates "
        f"{number(drift.value('tuning'), 2)} (within A "
        f"{number(drift.value('tuning_within'), 2)})"
    )


def _decoders(drift: Drift) -> Iterator[str]:
    yield f"  {drift.score + ' by steps read':24}" + "".join(f"{at:>10}" for at in drift.lags)
    for measure, name in {**DECODED, "loss": "lost"}.items():
        values = (number(drift.value(measure, at), 2) for at in drift.lags)
        yield f"  {name:24}" + "".join(f"{value:>10}" for value in values)
    ceiling = drift.value("ceiling")
    best = "" if is_missing(ceiling) else f"; refitted on B it recovers {ceiling:.0f} %"
    yield (
        f"  the constant {number(drift.value('constant'), 2)}, chance "
        f"{number(drift.value('chance'), 2)}{best}"
    )


def _study(drift: Drift) -> Iterator[str]:
    if updates := drift.rows.get("updates"):
        each = [f"{name} {row['value']:,.0f}" for name, row in updates.items()]
        few = [name for name, row in updates.items() if row["value"] < FEW_UPDATES]
        yield from _wrapped(
            f"updates of one model: {', '.join(each)}"
            + (f"; too few to tell: {phrase(few)}" if few else "")
        )
    registered = {k: row["words"] for k, row in drift.rows.get("registration", {}).items()}
    if sound := [name for name, refused in registered.items() if not refused]:
        yield from _wrapped(f"registrations that can be answered: {', '.join(sound)}")
    for name, refused in registered.items():
        if refused:
            yield from _wrapped(f"registration {name}: cannot be answered: {refused}")


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, 96, initial_indent="  ", subsequent_indent="    ")
