"""Formatted entries of a verdict, for the table, the page and the terminal."""

import re
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, count, estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.words import NOT_RUN, SIMULATED_OUTCOMES

# A row of results/verdicts, with its entries in words (`verdict_lines`).
Verdict = dict[str, Any]


def verdict_lines(verdicts: pd.DataFrame | None, study: StudyFacts) -> list[Verdict]:
    """The verdicts of results/verdicts, in the order of the paper's claims; [] without any.

    `size` is the estimate without its interval, if decided, and `former` the outcome by the rules
    before an amendment.
    """
    return [
        {"registered_on": "", "amended": False, **row}
        | {
            "words": outcome_words(row, study),
            "size": MISSING if row["outcome"] == "untestable" else number(row["estimate"], 2),
            "estimate": verdict_estimate(row),
            "threshold": threshold(row["threshold"]),
            "n": sample(row),
            "reason": why,
            "former": MISSING if is_missing(f := row.get("former")) or not f else str(f),
            "paper": load().claim_of(row["registration"]).get("paper", ""),
        }
        for row, why in (folded(verdicts, study) if verdicts is not None else ())
    ]


def verdict_estimate(row: dict[str, Any]) -> str:
    """A verdict's estimate and interval, two digits after the point."""
    return estimate(row["estimate"], row["low"], row["high"], digits=2)


def outcome_words(row: dict[str, Any], study: StudyFacts) -> str:
    """A verdict in words: its column `words`, or those for simulated sessions."""
    if not was_run(row):
        return NOT_RUN
    if not is_missing(row.get("words")) and row["words"]:
        return str(row["words"])
    outcome = str(row["outcome"])
    return SIMULATED_OUTCOMES.get(outcome, outcome) if study.simulated else outcome


def was_run(row: dict[str, Any]) -> bool:
    """Whether any condition that a registration is about was run in this study."""
    decided = row["outcome"] != "untestable" or not is_missing(row["estimate"])
    return decided or " has no row with " not in str(row.get("reason"))


def sample(row: dict[str, Any]) -> str:
    """The number of units that a verdict is over, and what they are where the row says so."""
    unit = row.get("unit")
    return count(row["n"]) + ("" if is_missing(unit) or not unit else f" {unit}s")


def threshold(value: object) -> str:
    """A verdict's threshold: words as they are, a number with the digits it needs."""
    if isinstance(value, str):
        return re.sub(r"(?<!\w)-(?=\d)", "−", value)
    return MISSING if is_missing(value) else f"{value:g}".replace("-", "−")


def folded(verdicts: pd.DataFrame, study: StudyFacts) -> list[tuple[dict[str, Any], str]]:
    """The verdicts in the order of the paper's claims, further ones last, each with its reason.

    A cause that an earlier one gives is named. On simulated sessions the registration's words on
    what an outcome means are left out, because they speak of recordings.
    """
    order = load().registrations
    rank = {name: i for i, name in enumerate(order)}
    rows = verdicts.to_dict("records")
    given: dict[str, str] = {}
    found = []
    for row in sorted(rows, key=lambda row: rank.get(row["registration"], len(order))):
        cause, meaning = reasons(row)
        first = given.setdefault(cause, row["title"]) if row["outcome"] == "untestable" else ""
        if cause and first and first != row["title"]:
            cause = f"As for “{first}”."
        decided = study.simulated and row["outcome"] in SIMULATED_OUTCOMES
        found.append((row, " ".join(filter(None, (cause, "" if decided else meaning)))))
    return found


def reasons(row: dict[str, Any]) -> tuple[str, str]:
    """Why a verdict is what it is, each cause said once; and what that means."""
    given = row.get("reason")
    *causes, last = str("" if is_missing(given) else given).split("; ")
    last, _, meaning = last.partition(". ")
    causes = "; ".join(dict.fromkeys([*causes, last.rstrip(".")]))
    return causes and f"{causes}.", meaning
