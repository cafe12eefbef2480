"""Held-out recovery."""

from __future__ import annotations

import pandas as pd

from orla.reports import paper as papers
from orla.reports import words
from orla.reports.numbers import count, estimate, is_missing, number, rate
from orla.reports.table import Column, Panel, Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    EDGE,
    UNRELIABLE,
    PaperCell,
    is_true,
    lost_seeds,
    mark_notes,
    panels_of,
    twin,
)


def heldout(conditions: pd.DataFrame, dataset: dict) -> Table:
    """Held-out recovery of every condition at its selected rate, ours and the paper's.

    Args:
        conditions: results/conditions: one row a condition (percent, 95 % bootstrap).
        dataset: name, label, simulated.
    """
    paper = papers.load()
    panels, records = [], []
    for title, rows in panels_of(conditions, "learner"):
        lines = []
        for row in rows:
            theirs = PaperCell(
                paper.recovery(
                    row["learner"],
                    row["optimizer"],
                    row["precision"],
                    row["split"],
                    row["architecture"],
                )
            )
            n = row["n_seeds"]
            lines.append(
                (
                    words.name("optimizer", row["optimizer"]),
                    rate(row["learning_rate"]) + (EDGE if is_true(row, "edge") else ""),
                    _seeds(row),
                    _diverged_or(
                        row,
                        estimate(
                            row["recovery_percent"], row["low_percent"], row["high_percent"], n=n
                        ),
                    ),
                    number(row.get("adapt_recovery_percent")),
                    number(row.get("r2_mean"), 2),
                    theirs.cell,
                    rate(theirs.learning_rate),
                )
            )
            records.append({**row, **theirs.record("recovery_percent", with_rate=True)})
        panels.append(Panel(title, lines))
    return Table(
        slug="heldout",
        title="Held-out recovery",
        caption=words.simulated_prefix(dataset)
        + "Recovery on the held-out part of session B (percent), each condition at the rate "
        f"selected on its validation part. Brackets: {BOOTSTRAP}; n: seeds, and how many of them "
        "diverged (div.), which are left out of the mean. Adapt: recovery over the adapt part, "
        "while learning. R²: held-out, mean of the two outputs.",
        columns=[
            Column("Optimizer"),
            Column("Rate", "r"),
            Column("n", "r"),
            Column("Held-out", "r", "Recovery (%)"),
            Column("Adapt", "r", "Recovery (%)"),
            Column("R²", "r"),
            Column("Held-out", "r", "The paper"),
            Column("Rate", "r", "The paper"),
        ],
        panels=panels,
        notes=mark_notes(panels),
        data=twin(records, conditions, dataset),
    )


def _seeds(row: dict) -> str:
    lost = lost_seeds(row)
    return count(row["n_seeds"]) + (f" ({lost} div.)" if lost else "")


def _diverged_or(row: dict, cell: str) -> str:
    if is_missing(row["recovery_percent"]) and lost_seeds(row):
        return "diverged"
    return cell + (UNRELIABLE if is_true(row, "unreliable") else "")
