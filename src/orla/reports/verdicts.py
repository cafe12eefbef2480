"""Verdicts in words, and the paper's claims beside our figures, which are looked up in results."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.reports.numbers import MISSING, count, estimate, interval, is_missing, number, or_default
from orla.reports.paper import load
from orla.reports.study import CONDITION, PAPERS, StudyFacts, where
from orla.reports.words import NOT_RUN, SIMULATED_OUTCOMES

# An interval of less width is shown with a digit more: errors in units of the target's variance.
_NARROW = 0.5
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

    def papers_then_primary(row: dict[str, Any]) -> tuple[int, bool]:
        return rank.get(row["registration"], len(rank)), not row.get("primary")

    lines = []
    for row in sorted(verdicts.to_dict("records"), key=papers_then_primary):
        cause, meaning = cause_and_meaning(row)
        if cause and row["outcome"] == "untestable":
            first = titles.setdefault(cause, row["title"])
            cause = cause if first == row["title"] else f"As for “{first}”."
        if study.simulated and row["outcome"] in SIMULATED_OUTCOMES:
            meaning = ""
        claim = load().claim_tested_by(row["registration"])
        paper = {"paper": claim.get("paper"), "paper_place": claim.get("place")}
        unit, ends = _text_or_empty(row, "unit"), ("estimate", "low", "high")
        digits = 3 if row["high"] - row["low"] < _NARROW else 2
        texts = {
            "words": outcome_words(row, study),
            "size": MISSING if row["outcome"] == "untestable" else number(row["estimate"], digits),
            "estimate": estimate(*(row[end] for end in ends), digits=digits),
            "threshold": threshold_text(row["threshold"]),
            "n": count(row["n"]) + (unit and f" {unit}s"),
            "reason": " ".join(filter(None, (cause, meaning))),
            "former": _text_or_empty(row, "former") or MISSING,
            "amended": bool(or_default(row.get("amended"), False)),
        }
        absent = {"registered_on": "", "row": ""}
        lines.append({**absent, **row, **paper, **texts, "record": row | paper})
    return lines


def outcome_words(row: dict[str, Any], study: StudyFacts) -> str:
    """A verdict in words: its column `words`, or those for simulated sessions.

    NOT_RUN where no condition that the registration is about was run.
    """
    outcome = str(row["outcome"])
    is_undecided = outcome == "untestable" and is_missing(row["estimate"])
    if is_undecided and " has no row with " in _text_or_empty(row, "reason"):
        return NOT_RUN
    outcome_text = SIMULATED_OUTCOMES.get(outcome, outcome) if study.simulated else outcome
    return _text_or_empty(row, "words") or outcome_text


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


def weightiest_claim_condition(result_name: str) -> dict[str, str]:
    """Key columns of the condition of the paper's weightiest claim about a result."""
    parts = (part for claim in load().claims for part in claim["ours"])
    return next(part["where"] for part in parts if part["result"] == result_name)


def claim_lines(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> list[dict[str, Any]]:
    """Every claim of the paper, with our figures (`ours`) and the verdict of its registration.

    It is [] where no claim has a figure, and where there are several pairs of sessions: the
    paper's numbers are of one pair. A claim is compared only with conditions to which the paper's
    numbers apply (see `StudyFacts.applicable_paper`).
    """
    verdicts = verdict_lines(results.get("verdicts", pd.DataFrame()), study)
    verdicts_by_registration = {verdict["registration"]: verdict for verdict in verdicts}
    comparable = _rows_comparable_to_paper(results, study)
    pairs = {tuple(p) for rows in comparable.values() for p in rows[["task", "pair"]].to_numpy()}
    if len(pairs) > 1:
        return []
    lines = []
    for claim in load().claims:
        verdict = verdicts_by_registration.get(claim.get("registration"), {})
        # Our figures may be of another network than the one that the verdict is about.
        network = or_default(verdict.get("network"), "")
        words = verdict.get("words", "") + (f" ({network})" if network else "")
        ours = [claim_estimate_text(spec, comparable) for spec in claim["ours"]]
        line = {"registration": "", **claim} | {"ours": ours, "words": words}
        line["results"] = list(dict.fromkeys(spec["result"] for spec in claim["ours"]))
        lines.append(line | {name: verdict.get(name, "") for name in ("outcome", "amended")})
    texts = (text for line in lines for text in line["ours"])
    return [] if all(text.endswith(NOT_RUN) for text in texts) else lines


def _rows_comparable_to_paper(
    results: Mapping[str, pd.DataFrame], study: StudyFacts
) -> dict[str, pd.DataFrame]:
    """Of each result with columns of a condition, the rows that the paper's compare with."""
    comparable_rows = {}
    for name, frame in results.items():
        if set(CONDITION) <= set(frame):
            columns = [c for c in (*CONDITION, "comparison") if c in frame]
            kinds = frame[columns].drop_duplicates()
            fits = [
                study.applicable_paper(row, PAPERS if row.get("comparison") == PAPERS else None)
                for row in kinds.to_dict("records")
            ]
            comparable_rows[name] = frame.merge(kinds[np.array(fits, bool)], on=columns)
    return comparable_rows


def claim_estimate_text(spec: Mapping[str, Any], results: Mapping[str, pd.DataFrame]) -> str:
    """Our figure for one part of a claim, as "label: estimate unit (interval, n)".

    Raises:
        OrlaError: several rows match where one must, or a column does not exist.
    """
    rows = results.get(spec["result"], pd.DataFrame())
    columns = {*spec["where"], spec["estimate"], spec.get("minus", spec["estimate"])}
    if len(rows):
        for column in sorted(columns - {*rows}):
            raise OrlaError(
                f"claims.yaml: claim part '{spec['label']}' asks results/{spec['result']} for "
                f"column '{column}', which it lacks; it has {', '.join(rows.columns)}"
            )
        rows = where(rows, **spec["where"])
    if rows.empty:
        return f"{spec['label']}: {NOT_RUN}"
    values = rows[spec["estimate"]]
    if "minus" in spec:
        values = values - rows[spec["minus"]]
    if values.isna().all():
        return f"{spec['label']}: diverged"
    aggregate, digits = spec.get("aggregate", "one"), spec.get("digits", 1)
    if aggregate == "one" and len(rows) > 1:
        raise OrlaError(
            f"claims.yaml: claim part '{spec['label']}' matches {len(rows)} rows of results/"
            f"{spec['result']}, not one; name more columns under 'where'"
        )
    figures = [values.min(), values.max()] if aggregate == "range" else [values.mean()]
    text = " to ".join(number(figure, digits, spec.get("signed", False)) for figure in figures)
    unit = f" {spec['unit']}" if spec.get("unit") else ""
    with_ends = digits if aggregate == "one" else None
    sample = "" if aggregate == "mean" else _interval_and_n_text(spec, rows, with_ends)
    return f"{spec['label']}: {text}{unit}{sample}"


def _interval_and_n_text(
    spec: Mapping[str, Any], rows: pd.DataFrame, digits: int | None = None
) -> str:
    """The interval, where `digits` are given, and the number of seeds, in brackets."""
    parts = []
    if digits is not None and "low" in spec and ("n" not in spec or rows[spec["n"]].min() >= 2):
        ends = interval(*rows[[spec["low"], spec["high"]]].iloc[0], digits)
        parts += [f"{spec['interval']} {ends}"] if ends else []
    if "n" in spec:
        counts = {int(n) for n in rows[spec["n"]]}
        parts.append("n = " + "–".join(map(str, sorted({min(counts), max(counts)}))))
    return f" ({', '.join(parts)})" if parts else ""
