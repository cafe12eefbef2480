"""Verdicts."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import MISSING
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import is_true, twin
from orla.reports.verdicts import folded, outcome_words, sample, threshold, verdict_estimate


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
        for row, why in folded(verdicts, study):
            claim = load().claim_of(row["registration"]) or {}
            lines.append(
                (
                    str(row["title"]) + (" †" if is_true(row, "amended") else ""),
                    outcome_words(row, study),
                    verdict_estimate(row),
                    threshold(row["threshold"]),
                    sample(row),
                    claim.get("paper", MISSING),
                )
            )
            records.append({**row, "paper": claim.get("paper"), "paper_place": claim.get("place")})
            if row["outcome"] != "supported" and why:
                notes.append(f"{row['title']}: {why}")
        if any(line[0].endswith("†") for line in lines):
            notes.append("† amended after it was registered.")
        caption = (
            "Every registration and its verdict. Brackets: the interval that the registration "
            "names; n: seeds of one pair, or what stands beside it."
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
                Column("Registration", r"p{0.212\linewidth}"),
                Column("Verdict", r"p{0.145\linewidth}"),
                Column("Estimate", r"p{0.21\linewidth}"),
                Column("Threshold", r"p{0.115\linewidth}"),
                Column("n", "r"),
                Column("The paper", r"p{0.165\linewidth}"),
            ],
            panels=[Panel("", lines)],
            notes=notes,
            data=twin(records, verdicts, study),
        )
