"""Verdicts in made-up worlds whose answers are known."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import count, estimate, number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin

_VERDICTS = ("supported", "falsified", "inconclusive", "untestable")
_ANSWERS = ("right", "wrong", "undecided")


class TruthControls(
    Table,
    name="truth_controls",
    label="Verdicts in worlds with a known answer",
    chapter="trust",
    order=10,
    needs=("truth_controls",),
):
    """How many made-up studies of each world got the right, the wrong and no verdict."""

    def build(self, controls: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        rows = controls.to_dict("records")
        return self.document(
            study,
            "Made-up studies with a known true gap, through the same rules to the same judge: "
            "their verdicts, and how many of these are right, wrong and undecided. Brackets: 95 % "
            "interval of the wrong share over made-up studies.",
            columns=[
                Column("World", r"p{0.16\linewidth}"),
                Column("True gap", "r"),
                Column("Claim", r"p{0.13\linewidth}"),
                Column("n", "r"),
                *(Column(name[:5] + ".", "r", "Verdict") for name in _VERDICTS),
                *(Column(name, "r", "Answer") for name in _ANSWERS),
                Column("Wrong (%)", "r"),
            ],
            panels=[Panel("", [_line(row) for row in rows])] if rows else [],
            notes=["supp., fals., incon., untes.: supported, falsified, inconclusive, untestable."],
            data=twin(rows, controls, study),
            kept=3,
            widest=8,
        )


def _line(row: dict) -> tuple[str, ...]:
    share = estimate(*(100 * row[f"wrong_{name}"] for name in ("share", "low", "high")))
    return (
        str(row["world"]),
        number(row["true_gap_pp"], signed=True),
        str(row["claim"]),
        count(row["studies"]),
        *(count(row[name]) for name in (*_VERDICTS, *_ANSWERS)),
        share.replace(" ", "\n", 1),
    )
