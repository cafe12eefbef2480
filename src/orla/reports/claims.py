"""The paper's claims beside our figures, which are looked up in the results by row and column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.reports import numbers
from orla.reports.paper import load
from orla.reports.study import CONDITION, PAPERS, StudyFacts
from orla.reports.verdicts import outcome_words

NOT_RUN = "not run"


@dataclass(frozen=True)
class ClaimLine:
    """A claim as the page shows it.

    Attributes:
        text, paper, place: the claim, the paper's figure and where it stands.
        ours: our figures, one line each; empty where this study does not measure the claim.
        registration: the registration that tests it, or "".
        outcome, words: that registration's verdict, and as a reader sees it; or "".
        amended: whether that registration was amended.
    """

    text: str
    paper: str
    place: str
    ours: list[str]
    registration: str
    outcome: str
    words: str
    amended: bool


def condition_of(result: str) -> dict[str, str]:
    """The key columns of the condition that the paper's weightiest claim about a result is of."""
    parts = (part for claim in load().claims for part in claim["ours"])
    return next(part["where"] for part in parts if part["result"] == result)


def lines(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> list[ClaimLine]:
    """Every claim of the paper, with our figures and the verdict of its registration.

    A claim is compared only with conditions to which the paper's numbers apply (see
    `StudyFacts.paper`); of several pairs of sessions, with each.

    Args:
        results: results by file stem (gaps, conditions, verdicts, ...); what is absent reads
            "not run".
        study: names, comparisons and data of the study.
    """
    verdicts = _verdicts(results.get("verdicts"))
    own = _beside_paper(results, study)
    keys = [frame[["task", "pair"]] for frame in own.values()]
    pairs = pd.concat(keys).drop_duplicates() if keys else pd.DataFrame({"pair": []})
    by_pair = {
        key: {name: f[(f[["task", "pair"]] == list(key)).all(axis=1)] for name, f in own.items()}
        for key in pairs.itertuples(index=False, name=None)
    }
    return [_line(claim, by_pair, verdicts, study) for claim in load().claims]


def apply(results: Mapping[str, pd.DataFrame], study: StudyFacts) -> bool:
    """Whether the paper's numbers may stand beside any of these results."""
    return any(len(frame) for frame in _beside_paper(results, study).values())


def _beside_paper(
    results: Mapping[str, pd.DataFrame], study: StudyFacts
) -> dict[str, pd.DataFrame]:
    """Of results that say which condition a row is of, the rows that the paper's may stand by."""
    return {
        name: _fitting(frame, study)
        for name, frame in results.items()
        if set(CONDITION) <= set(frame)
    }


def _fitting(frame: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    columns = [c for c in (*CONDITION, "comparison") if c in frame]
    kinds = frame[columns].drop_duplicates()
    fits = [
        study.paper(row, PAPERS if row.get("comparison") == PAPERS else None) is not None
        for row in kinds.to_dict("records")
    ]
    return frame.merge(kinds[np.array(fits, dtype=bool)], how="inner", on=columns)


def answer(spec: Mapping[str, Any], results: Mapping[str, pd.DataFrame]) -> str:
    """Our figure for one part of a claim, as "label: estimate unit (interval, n)".

    Args:
        spec: result, where, estimate, and optionally minus, low, high, interval, n, aggregate
            (one, range, mean), unit, signed, digits.
        results: results by file stem.

    Raises:
        OrlaError: several rows match where one must, or a column does not exist.
    """
    rows = _rows(spec, results.get(spec["result"]))
    if rows is None or rows.empty:
        return f"{spec['label']}: {NOT_RUN}"
    style = {"digits": spec.get("digits", 1), "signed": spec.get("signed", False)}
    unit = f" {spec['unit']}" if spec.get("unit") else ""
    values = _column(spec, rows, spec["estimate"])
    if "minus" in spec:
        values = values - _column(spec, rows, spec["minus"])
    aggregate = spec.get("aggregate", "one")
    if values.isna().all():
        return f"{spec['label']}: diverged"
    if aggregate == "mean":
        return f"{spec['label']}: {numbers.number(values.mean(), **style)}{unit}"
    if aggregate == "range":
        ends = [numbers.number(value, **style) for value in (values.min(), values.max())]
        return f"{spec['label']}: {' to '.join(ends)}{unit}{_sample(spec, rows)}"
    if len(rows) != 1:
        raise OrlaError(
            f"claims.yaml: claim part '{spec['label']}' matches {len(rows)} rows of results/"
            f"{spec['result']}, not one; name more columns under 'where'"
        )
    figure = numbers.number(values.iloc[0], **style)
    return f"{spec['label']}: {figure}{unit}{_sample(spec, rows, style)}"


def _line(
    claim: Mapping[str, Any],
    by_pair: Mapping[tuple, Mapping],
    verdicts: Mapping[str, Any],
    study: StudyFacts,
) -> ClaimLine:
    verdict = verdicts.get(claim.get("registration"))
    ours = [
        (f"{key[1]}: " if len(by_pair) > 1 else "") + answer(spec, results)
        for key, results in by_pair.items()
        for spec in claim["ours"]
    ]
    return ClaimLine(
        text=claim["text"],
        paper=claim["paper"],
        place=claim["place"],
        ours=ours or [f"{spec['label']}: {NOT_RUN}" for spec in claim["ours"]],
        registration=claim.get("registration", ""),
        outcome=verdict["outcome"] if verdict else "",
        words=outcome_words(verdict, study) if verdict else "",
        amended=bool(verdict["amended"]) if verdict else False,
    )


def _verdicts(verdicts: pd.DataFrame | None) -> dict[str, dict]:
    if verdicts is None:
        return {}
    return {row["registration"]: row for row in verdicts.to_dict("records")}


def _rows(spec: Mapping[str, Any], frame: pd.DataFrame | None) -> pd.DataFrame | None:
    if frame is None or frame.empty:
        return None
    chosen = pd.Series(True, index=frame.index)
    for column, value in spec["where"].items():
        chosen &= _column(spec, frame, column) == value
    return frame[chosen]


def _column(spec: Mapping[str, Any], frame: pd.DataFrame, column: str) -> pd.Series:
    if column not in frame:
        raise OrlaError(
            f"claims.yaml: claim part '{spec['label']}' asks results/{spec['result']} for column "
            f"'{column}', which it lacks; it has {', '.join(frame.columns)}"
        )
    return frame[column]


def _sample(
    spec: Mapping[str, Any], rows: pd.DataFrame, style: Mapping[str, Any] | None = None
) -> str:
    parts = []
    few = "n" in spec and int(rows[spec["n"]].min()) < 2
    if style is not None and "low" in spec and not few:
        ends = numbers.interval(
            rows[spec["low"]].iloc[0], rows[spec["high"]].iloc[0], style["digits"]
        )
        if ends:
            parts.append(f"{spec['interval']} {ends}")
    if "n" in spec:
        counts = sorted({int(n) for n in rows[spec["n"]]})
        parts.append("n = " + (str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"))
    return f" ({', '.join(parts)})" if parts else ""
