"""The price of selecting on the test part."""

from __future__ import annotations

import pandas as pd

from orla.reports import words
from orla.reports.numbers import count, estimate, number, rate
from orla.reports.table import Column, Panel, Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    panels_of,
    twin,
)


def selection_price(prices: pd.DataFrame, dataset: dict) -> Table:
    """What selecting the rate on the held-out part would add to each recovery.

    Args:
        prices: results/selection_price: one row a condition (percent, pp, 95 % bootstrap).
        dataset: name, label, simulated.
    """
    panels, records = [], []
    for title, rows in panels_of(prices, "learner"):
        lines = [
            (
                words.name("optimizer", row["optimizer"]),
                rate(row["learning_rate"]),
                number(row["recovery_validation_selected_percent"]),
                rate(row["learning_rate_test"]),
                number(row["recovery_test_selected_percent"]),
                estimate(
                    row["price_pp"], row["low_pp"], row["high_pp"], signed=True, n=row["n_seeds"]
                ),
                count(row["n_seeds"]),
            )
            for row in rows
        ]
        records += rows
        panels.append(Panel(title, lines))
    return Table(
        slug="selection_price",
        title="The price of selecting on the test part",
        caption=words.simulated_prefix(dataset)
        + "Held-out recovery (percent) with the rate selected on the validation part, and on the "
        "held-out part itself, as the caption of the paper's Table 6 says it was done. Price: the "
        f"second minus the first (pp). Brackets: {BOOTSTRAP}; n: seeds. The paper reports no "
        "price.",
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
        notes=[],
        data=twin(records, prices, dataset),
    )
