"""Update-magnitude ratio and gap."""

from __future__ import annotations

import pandas as pd

from orla.reports import paper as papers
from orla.reports import words
from orla.reports.numbers import count, estimate, number
from orla.reports.paper import Number, Paper
from orla.reports.table import Column, Panel, Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    PaperCell,
    mark_notes,
    panels_of,
    paper_gap,
    records_of,
    twin,
)


def ratio_gap(ratios: pd.DataFrame, order: pd.DataFrame, dataset: dict) -> Table:
    """Update-magnitude ratio and gap by optimizer, on the paper's diagonal, ours and the paper's.

    Args:
        ratios: results/ratio_gap: one row a condition (pp, 95 % bootstrap).
        order: results/ratio_gap_order: Spearman's correlation over optimizers.
        dataset: name, label, simulated.
    """
    paper = papers.load()
    panels, records = [], []
    for title, rows in panels_of(ratios):
        lines = []
        for row in rows:
            theirs = _paper_ratio(paper, row)
            gap = _ratio_table_gap(paper, row)
            lines.append(
                (
                    words.name("optimizer", row["optimizer"]),
                    estimate(
                        row["update_ratio"],
                        row["update_ratio_low"],
                        row["update_ratio_high"],
                        digits=2,
                        n=row["n_seeds"],
                    ),
                    number(theirs["update_ratio"] if theirs else None, 2),
                    estimate(
                        row["gap_pp"], row["low_pp"], row["high_pp"], signed=True, n=row["n_seeds"]
                    ),
                    gap.cell,
                    count(row["n_seeds"]),
                )
            )
            ratio = {"paper_update_ratio": theirs["update_ratio"] if theirs else None}
            records.append({**row, **ratio, **gap.record("gap_pp")})
        panels.append(Panel(title, lines))
    notes = [_order_note(row) for row in records_of(order)]
    if not ratios.empty:
        notes.append(
            "The paper's ratios, and its gaps at 80/20 beside float64, are those of its Table 3."
        )
    return Table(
        slug="ratio_gap",
        title="Update-magnitude ratio and gap",
        caption=words.simulated_prefix(dataset)
        + "Mean over updates of ‖ΔW_hh‖/‖ΔW_out‖ under full RTRL, and the held-out recovery gap, "
        "full per window (TBPTT 200) minus immediate per step, each at its best rate. "
        f"Brackets: {BOOTSTRAP}; n: seeds.",
        columns=[
            Column("Optimizer"),
            Column("ours", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
            Column("paper", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
            Column("ours", "r", "Gap (pp)"),
            Column("paper", "r", "Gap (pp)"),
            Column("n", "r"),
        ],
        panels=panels,
        notes=notes + mark_notes(panels),
        data=twin(records, ratios, dataset),
    )


def _paper_ratio(paper: Paper, row: dict) -> dict | None:
    """The paper's ratio table holds for one condition only: RNN, float64, 80/20."""
    if (row["architecture"], row["precision"], row["split"]) != ("rnn", "float64", "80-20"):
        return None
    return paper.ratio_gap(row["optimizer"])


def _ratio_table_gap(paper: Paper, row: dict) -> PaperCell:
    theirs = _paper_ratio(paper, row)
    if theirs is None:
        return paper_gap(paper, row)
    place = paper.document["ratio_gap"]["place"]
    text = theirs.get("gap_text")
    gap = Number(theirs["gap_pp"], text, None, None, None, "local-f64", place)
    return PaperCell(gap, digits=0, signed=True)


def _order_note(row: dict) -> str:
    rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
    return (
        f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
        f"{words.condition(row)}: {rank} (95 % bootstrap interval over {count(row['n_seeds'])} "
        "seeds; the paper's four are in one order)."
    )
