"""Formatted entries of a verdict, for the table, the page and the terminal."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, estimate, is_missing
from orla.reports.paper import load


def verdict_rows(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """The verdicts as dicts, in the order of the paper's claims; further ones follow."""
    order = load().registrations
    rank = {name: i for i, name in enumerate(order)}
    rows = verdicts.to_dict("records")
    return sorted(rows, key=lambda row: rank.get(row["registration"], len(order)))


def verdict_estimate(row: dict[str, Any]) -> str:
    """A verdict's estimate and interval, two digits after the point."""
    return estimate(row["estimate"], row["low"], row["high"], digits=2)


def threshold(value: object) -> str:
    """A verdict's threshold: words as they are, a number with the digits it needs."""
    if isinstance(value, str):
        return re.sub(r"(?<!\w)-(?=\d)", "−", value)
    return MISSING if is_missing(value) else f"{value:g}".replace("-", "−")


def reason(row: dict[str, Any]) -> str:
    """Why a verdict is what it is, each cause said once, and what it means; or ""."""
    return " ".join(filter(None, reasons(row)))


def reasons(row: dict[str, Any]) -> tuple[str, str]:
    """Why a verdict is what it is, each cause said once; and what that means."""
    given = row.get("reason")
    *causes, last = str("" if is_missing(given) else given).split("; ")
    last, _, meaning = last.partition(". ")
    causes = "; ".join(dict.fromkeys([*causes, last.rstrip(".")]))
    return causes and f"{causes}.", meaning
