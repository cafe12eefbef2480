"""Verdicts."""

from __future__ import annotations

import re

import pandas as pd

from orla.reports import paper as papers
from orla.reports import words
from orla.reports.numbers import MISSING, count, estimate, is_missing
from orla.reports.table import Column, Panel, Table
from orla.reports.tables.shared import (
    is_true,
    records_of,
    twin,
)


def verdict(verdicts: pd.DataFrame, dataset: dict) -> Table:
    """Every registration's verdict, with the paper's figure for the claim it tests.

    Args:
        verdicts: results/verdicts: one row a registration.
        dataset: name, label, simulated.
    """
    lines, records, notes = [], [], []
    for row in verdict_rows(verdicts):
        claim = papers.load().claim_of(row["registration"]) or {}
        amended = is_true(row, "amended")
        lines.append(
            (
                str(row["title"]) + (" †" if amended else ""),
                str(row["outcome"]),
                verdict_estimate(row),
                threshold(row["threshold"]),
                count(row["n"]),
                claim.get("paper", MISSING),
            )
        )
        records.append({**row, "paper": claim.get("paper"), "paper_place": claim.get("place")})
        if row["outcome"] != "supported" and not is_missing(row["reason"]):
            notes.append(f"{row['title']}: {row['reason']}.".replace("..", "."))
    if "†" in "".join(line[0] for line in lines):
        notes.append("† amended after it was registered.")
    return Table(
        slug="verdict",
        title="Verdicts",
        caption=words.simulated_prefix(dataset)
        + "Every registration and its verdict. Brackets: the interval that the registration names; "
        "n: seeds."
        + (
            " A verdict on simulated sessions shows that the study works, not what the brain does."
            if dataset.get("simulated")
            else ""
        ),
        columns=[
            Column("Registration", r"p{0.23\linewidth}"),
            Column("Verdict"),
            Column("Estimate", r"p{0.205\linewidth}"),
            Column("Threshold", r"p{0.115\linewidth}"),
            Column("n", "r"),
            Column("The paper", r"p{0.19\linewidth}"),
        ],
        panels=[Panel("", lines)],
        notes=notes,
        data=twin(records, verdicts, dataset),
    )


def verdict_rows(verdicts: pd.DataFrame) -> list[dict]:
    """The verdicts as dicts, in the order of the paper's claims; further ones follow."""
    order = papers.load().registrations
    rank = {name: i for i, name in enumerate(order)}
    return sorted(records_of(verdicts), key=lambda row: rank.get(row["registration"], len(order)))


def verdict_estimate(row: pd.Series | dict) -> str:
    """A verdict's estimate and interval, two digits after the point."""
    return estimate(row["estimate"], row["low"], row["high"], digits=2)


def threshold(value: object) -> str:
    """A verdict's threshold: words as they are, a number with the digits it needs."""
    if isinstance(value, str):
        return re.sub(r"(?<!\w)-(?=\d)", "−", value)
    return MISSING if is_missing(value) else f"{value:g}".replace("-", "−")
