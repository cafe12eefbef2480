"""Verdicts."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import MISSING, count
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import is_true, twin
from orla.reports.verdicts import reason, threshold, verdict_estimate, verdict_rows


class Verdict(
    Table,
    name="verdict",
    label="Verdicts",
    chapter="verdicts",
    order=10,
    needs=("verdicts",),
    paper="claims",
):
    """Every registration's verdict, with the paper's figure for the claim it tests."""

    def build(self, verdicts: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        lines, records, notes = [], [], []
        for row in verdict_rows(verdicts):
            claim = load().claim_of(row["registration"]) or {}
            lines.append(
                (
                    str(row["title"]) + (" †" if is_true(row, "amended") else ""),
                    str(row["outcome"]),
                    verdict_estimate(row),
                    threshold(row["threshold"]),
                    count(row["n"]),
                    claim.get("paper", MISSING),
                )
            )
            records.append({**row, "paper": claim.get("paper"), "paper_place": claim.get("place")})
            if row["outcome"] != "supported" and reason(row):
                notes.append(f"{row['title']}: {reason(row)}")
        if any(line[0].endswith("†") for line in lines):
            notes.append("† amended after it was registered.")
        caption = (
            "Every registration and its verdict. Brackets: the interval that the registration "
            "names; n: seeds."
        )
        if study.simulated:
            caption += (
                " A verdict on simulated sessions shows that the study works, not what the brain "
                "does."
            )
        return self.document(
            study,
            caption,
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
            data=twin(records, verdicts, study),
        )
