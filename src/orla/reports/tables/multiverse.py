"""Every specification of the multiverse."""

from __future__ import annotations

import pandas as pd

from orla.reports.estimates import METRICS
from orla.reports.multiverse import CHOICES, of_what, specifications
from orla.reports.numbers import estimate
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import twin


class Multiverse(
    Table,
    name="multiverse",
    label="The gap under every choice",
    chapter="choices",
    order=10,
    needs=("multiverse",),
):
    """The gap under each specification, from the least to the greatest, by optimizer."""

    def build(self, multiverse: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        rows = specifications(multiverse, study)
        choices = [name for name in list(CHOICES)[1:] if rows[name].astype(bool).any()]
        panels = [
            Panel(
                f"{study.called('optimizer', optimizer)}: {metric}",
                [(*(row[name] for name in choices), _gap(row)) for row in group.to_dict("records")],
            )
            for optimizer in study.present(rows, "optimizer")
            for metric in METRICS.values()
            for group in [rows[(rows["optimizer"] == optimizer) & (rows["metric"] == metric)]]
            if len(group)
        ]
        return self.document(
            study,
            f"The gap of full minus immediate{of_what(rows, multiverse, study)} under each choice, "
            "from the least to the greatest: "
            "recovery in pp, R² and MSE (sign reversed) in hundredths. Brackets: 95 % t interval "
            "over seeds of one pair.",
            columns=[*(Column(CHOICES[name]) for name in choices), Column("Gap", "r")],
            panels=panels,
            data=twin(multiverse.to_dict("records"), multiverse, study),
            size="scriptsize",
        )


def _gap(row: dict) -> str:
    return estimate(row["gap"], row["low"], row["high"], signed=True)
