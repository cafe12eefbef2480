"""The price of selecting on the test part."""

from __future__ import annotations

import pandas as pd

from orla.reports.numbers import count, estimate, number, rate
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import BOOTSTRAP, twin

_PAPER = (
    " The caption of the paper's Table 6 says that its rates were selected on the held-out part; "
    "it reports no price."
)


class SelectionPrice(
    Table,
    name="selection_price",
    label="The price of selecting on the test part",
    chapter="rates",
    order=10,
    needs=("selection_price",),
):
    """What selecting the rate on the held-out part would add to each recovery."""

    def build(self, prices: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        for title, _, rows in study.groups(prices, "learner"):
            found = rows.to_dict("records")
            panels.append(Panel(title, [_line(study, row) for row in found]))
            records += found
        return self.document(
            study,
            "Held-out recovery (percent) with the rate selected on the validation part, and on "
            "the held-out part itself. Price: the second minus the first (pp). "
            f"Brackets: {BOOTSTRAP}; n: seeds." + (_PAPER if study.reproduces else ""),
            columns=[
                Column("Optimizer"),
                Column("Rate", "r", "Validation"),
                Column("Recovery", "r", "Validation"),
                Column("Rate", "r", "Held-out"),
                Column("Recovery", "r", "Held-out"),
                Column("Price (pp)", "r"),
                Column("n", "r"),
            ],
            panels=panels,
            data=twin(records, prices, study),
        )


def _line(study: StudyFacts, row: dict) -> tuple[str, ...]:
    return (
        study.called("optimizer", row["optimizer"]),
        rate(row["learning_rate"]),
        number(row["recovery_validation_selected_percent"]),
        rate(row["learning_rate_test"]),
        number(row["recovery_test_selected_percent"]),
        estimate(row["price_pp"], row["low_pp"], row["high_pp"], signed=True, n=row["n_seeds"]),
        count(row["n_seeds"]),
    )
