"""The two by two of gradient and cadence."""

from __future__ import annotations

import pandas as pd

from orla.reports import paper as papers
from orla.reports import words
from orla.reports.numbers import MISSING, interval, is_missing, number
from orla.reports.table import Column, Panel, Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    UNRELIABLE,
    is_true,
    lost_seeds,
    mark_notes,
    panels_of,
    paper_gap,
    twin,
)

_BCI_COLUMNS = {
    "per_step": Column("per step", "r", "Full − immediate"),
    "per_window": Column("per window", "r", "Full − immediate"),
    "cadence_immediate": Column("immediate", "r", "Window − step"),
    "cadence_full": Column("full", "r", "Window − step"),
    "paper": Column("ours", "r", "Diagonal"),
}


def bci_gap(gaps: pd.DataFrame, dataset: dict) -> Table:
    """The two by two of gradient and cadence by optimizer: every gap, and the paper's diagonal.

    Args:
        gaps: results/gaps: one row a comparison (pp, 95 % bootstrap).
        dataset: name, label, simulated.
    """
    paper = papers.load()
    if len(gaps):
        gaps = gaps[gaps["comparison"].isin(list(_BCI_COLUMNS))]
    comparisons = [name for name in _BCI_COLUMNS if name in set(gaps.get("comparison", ()))]
    comparisons = comparisons or ["paper"]
    panels, records, diverged = [], [], []
    for title, rows in panels_of(gaps):
        lines = []
        by_optimizer: dict[str, dict[str, dict]] = {}
        for row in rows:
            by_optimizer.setdefault(row["optimizer"], {})[row["comparison"]] = row
        for optimizer, cells in by_optimizer.items():
            theirs = paper_gap(paper, next(iter(cells.values())))
            line = [words.name("optimizer", optimizer)]
            line += [_gap_cell(cells.get(comparison)) for comparison in comparisons]
            line += [theirs.two_lines, _gap_seeds(cells)]
            lines.append(tuple(line))
            for row in cells.values():
                extra = theirs.record("gap_pp") if row["comparison"] == "paper" else {}
                records.append({**row, **extra})
            diverged += [_diverged_note(row) for row in cells.values() if lost_seeds(row)]
        panels.append(Panel(title, lines))
    return Table(
        slug="bci_gap",
        title="Gradient and cadence",
        caption=words.simulated_prefix(dataset)
        + "Differences of held-out recovery (pp) in the two by two of gradient (immediate, full) "
        "and cadence (an update each step, each window of 200 steps). Full per step is exact RTRL, "
        "full per window TBPTT 200. Diagonal: full per window minus immediate per step, which the "
        f"paper compares. Brackets: {BOOTSTRAP}; n: paired seeds.",
        columns=[
            Column("Optimizer"),
            *(_BCI_COLUMNS[comparison] for comparison in comparisons),
            Column("paper", "r", "Diagonal"),
            Column("n", "r"),
        ],
        panels=panels,
        notes=diverged + mark_notes(panels),
        data=twin(records, gaps, dataset),
    )


def _gap_cell(row: dict | None) -> str:
    if row is None:
        return MISSING
    if is_missing(row["gap_pp"]):
        return "diverged" if lost_seeds(row) else MISSING
    mark = UNRELIABLE if is_true(row, "unreliable") else ""
    ends = interval(row["low_pp"], row["high_pp"]) if row["n_seeds"] > 1 else ""
    return f"{number(row['gap_pp'], signed=True)}{mark}\n{ends}".rstrip("\n")


def _gap_seeds(cells: dict[str, dict]) -> str:
    counts = sorted({int(row["n_seeds"]) for row in cells.values()})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _diverged_note(row: dict) -> str:
    lost = lost_seeds(row)
    seeds = "1 seed is" if lost == 1 else f"{lost} seeds are"
    comparison = words.name("comparison", row["comparison"]).partition(":")[0]
    optimizer = words.name("optimizer", row["optimizer"])
    return f"{optimizer}, {words.condition(row)}, {comparison}: {seeds} left out (diverged)."
