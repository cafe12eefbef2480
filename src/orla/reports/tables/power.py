"""Power of each registration."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import count, is_missing, number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin


class Power(
    Table,
    name="power",
    label="Power of each registration",
    chapter="trust",
    order=20,
    needs=("power",),
):
    """Power against the true gap at the scatter that was seen, and what 80 % would take."""

    def build(self, power: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels = []
        for name, rows in power.groupby("registration", sort=False):
            rows = rows.sort_values("true_gap_pp").to_dict("records")
            panels.append(Panel(f"{name}: {sample(rows[0])}", [_line(row) for row in rows]))
        return self.document(
            study,
            "Probability that a registration's claim is supported, if the true gap were the one "
            "given, at the scatter seen and the registered number of pairs or seeds; and the "
            "number that 80 % would take.",
            columns=[
                Column("True gap (pp)", "r"),
                Column("Power (%)", "r"),
                Column("n for 80 %", "r"),
            ],
            panels=panels,
            data=twin(power.to_dict("records"), power, study),
        )


def sample(row: dict) -> str:
    """The registered sample and the scatter: "12 pairs, sd 6.2 pp"."""
    unit = "" if is_missing(row["unit"]) else f" {row['unit']}s"
    return f"{count(row['n'])}{unit}, sd {number(row['sd_pp'])} pp"


def _line(row: dict) -> tuple[str, ...]:
    gap = number(row["true_gap_pp"], signed=True)
    return gap, number(100 * row["supported"], 0), count(row["n_80"])
