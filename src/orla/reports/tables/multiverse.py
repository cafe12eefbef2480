"""Every specification of the multiverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Cell, Row, ends, value
from orla.reports.estimates import METRICS
from orla.reports.multiverse import CHOICES, of_what, specifications
from orla.reports.study import StudyFacts
from orla.reports.tables.base import Contents, Table
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

    layout: ClassVar = {"size": "scriptsize"}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        return (
            f"The gap of full minus immediate{of_what(specifications(rows, study), rows, study)} "
            "under each choice, from the least to the greatest: recovery in pp, R² and MSE (sign "
            "reversed) in hundredths. Brackets: 95 % t interval over seeds of one pair."
        )

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        rows = specifications(rows, study)
        choices = [name for name in list(CHOICES)[1:] if rows[name].astype(bool).any()]
        gap = ends("Gap", "gap", "low", "high", signed=True)
        return [*(value(CHOICES[name], name, str, align="l") for name in choices), gap]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        rows = specifications(rows, study)
        for optimizer in study.present(rows, "optimizer"):
            for metric in METRICS.values():
                group = rows[(rows["optimizer"] == optimizer) & (rows["metric"] == metric)]
                if len(group):
                    yield (
                        f"{study.called('optimizer', optimizer)}: {metric}",
                        group.to_dict("records"),
                    )

    def data(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        return twin([], contents.rows, study)
