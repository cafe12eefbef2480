"""Formatted entries of a verdict, for the table, the page and the terminal."""

import re
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, count, estimate, is_missing, number, or_default
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.words import NOT_RUN, SIMULATED_OUTCOMES

# A row of results/verdicts, with its entries in words (`verdict_lines`).
Verdict = dict[str, Any]


def verdict_lines(verdicts: pd.DataFrame, study: StudyFacts) -> list[Verdict]:
    """The verdicts of results/verdicts: those of the paper's claims, the primary one, the others.

    `size` is the estimate without its interval, if decided; `former` the outcome by the rules
    before an amendment; `reason` names a verdict whose cause is the same; `record` is the row with
    the paper's figure. On simulated sessions the registration's words on what an outcome means are
    left out, because they speak of recordings.
    """
    rank = {name: i for i, name in enumerate(load().registrations)}
    titles: dict[str, str] = {}

    def sort_key(row: dict[str, Any]) -> tuple[int, bool]:
        return rank.get(row["registration"], len(rank)), not row.get("primary")

    lines = []
    for row in sorted(verdicts.to_dict("records"), key=sort_key):
        cause, meaning = cause_and_meaning(row)
        if cause and row["outcome"] == "untestable":
            first = titles.setdefault(cause, row["title"])
            cause = cause if first == row["title"] else f"As for “{first}”."
        if study.simulated and row["outcome"] in SIMULATED_OUTCOMES:
            meaning = ""
        claim = load().claim_tested_by(row["registration"])
        paper = {"paper": claim.get("paper"), "paper_place": claim.get("place")}
        unit = _text_or_empty(row, "unit")
        texts = {
            "words": outcome_words(row, study),
            "size": MISSING if row["outcome"] == "untestable" else number(row["estimate"], 2),
            "estimate": estimate(row["estimate"], row["low"], row["high"], digits=2),
            "threshold": threshold_text(row["threshold"]),
            "n": count(row["n"]) + (unit and f" {unit}s"),
            "reason": " ".join(filter(None, (cause, meaning))),
            "former": _text_or_empty(row, "former") or MISSING,
            "amended": bool(or_default(row.get("amended"), False)),
        }
        lines.append({"registered_on": "", **row, **paper, **texts, "record": row | paper})
    return lines


def outcome_words(row: dict[str, Any], study: StudyFacts) -> str:
    """A verdict in words: its column `words`, or those for simulated sessions.

    NOT_RUN where no condition that the registration is about was run.
    """
    outcome = str(row["outcome"])
    undecided = outcome == "untestable" and is_missing(row["estimate"])
    if undecided and " has no row with " in _text_or_empty(row, "reason"):
        return NOT_RUN
    simulated = SIMULATED_OUTCOMES.get(outcome, outcome) if study.simulated else outcome
    return _text_or_empty(row, "words") or simulated


def threshold_text(value: object) -> str:
    """A verdict's threshold: words as they are, a number with the digits it needs."""
    if isinstance(value, str):
        return re.sub(r"(?<!\w)-(?=\d)", "−", value)
    return MISSING if is_missing(value) else f"{value:g}".replace("-", "−")


def cause_and_meaning(row: dict[str, Any]) -> tuple[str, str]:
    """Why a verdict is what it is, each cause said once; and what that means."""
    *causes, last = _text_or_empty(row, "reason").split("; ")
    last, _, meaning = last.partition(". ")
    causes = "; ".join(dict.fromkeys([*causes, last.rstrip(".")]))
    return causes and f"{causes}.", meaning


def _text_or_empty(row: dict[str, Any], column: str) -> str:
    """A column of a verdict as text, "" where it is missing."""
    text = row.get(column)
    return "" if is_missing(text) else str(text or "")
