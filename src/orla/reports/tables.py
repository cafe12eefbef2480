"""The study's tables: each takes tidy results and returns a ``Table`` with the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from orla.reports import paper as papers
from orla.reports import words
from orla.reports.numbers import MISSING, count, estimate, interval, is_missing, number, rate
from orla.reports.paper import Number, Paper
from orla.reports.table import Column, Panel, Table, write

__all__ = ["bci_gap", "heldout", "ratio_gap", "selection_price", "verdict", "write"]

_BOOTSTRAP = "95 % percentile bootstrap interval over seeds"
_EDGE = "*"
_UNRELIABLE = "‡"
_CONFIGURATION_MARKS = {"pilot-f32": "ᵖ", "kaggle-f64": "ᵏ"}
_MARK_NOTES = {
    _EDGE: "* the best rate lies on the grid's edge.",
    _UNRELIABLE: "‡ unreliable: frozen minus reference MSE is under 0.05.",
    "ᵖ": (
        "ᵖ the paper's float32 pilot: rate chosen on the held-out part, full RTRL with a "
        "window of 50."
    ),
    "ᵏ": "ᵏ the paper's float64 run on Kaggle's CPU (the others: its local CPU).",
}
_PANEL = ["architecture", "precision", "split"]


def ratio_gap(ratios: pd.DataFrame, order: pd.DataFrame, dataset: dict) -> Table:
    """Update-magnitude ratio and gap by optimizer, on the paper's diagonal, ours and the paper's.

    Args:
        ratios: results/ratio_gap: one row a condition (pp, 95 % bootstrap).
        order: results/ratio_gap_order: Spearman's correlation over optimizers.
        dataset: name, label, simulated.
    """
    paper = papers.load()
    panels, records = [], []
    for title, rows in _panels(ratios):
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
    notes = [_order_note(row) for row in _records(order)]
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
        f"Brackets: {_BOOTSTRAP}; n: seeds.",
        columns=[
            Column("Optimizer"),
            Column("ours", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
            Column("paper", "r", "‖ΔW_hh‖/‖ΔW_out‖"),
            Column("ours", "r", "Gap (pp)"),
            Column("paper", "r", "Gap (pp)"),
            Column("n", "r"),
        ],
        panels=panels,
        notes=notes + _mark_notes(panels),
        data=_data(records, ratios, dataset),
    )


def heldout(conditions: pd.DataFrame, dataset: dict) -> Table:
    """Held-out recovery of every condition at its selected rate, ours and the paper's.

    Args:
        conditions: results/conditions: one row a condition (percent, 95 % bootstrap).
        dataset: name, label, simulated.
    """
    paper = papers.load()
    panels, records = [], []
    for title, rows in _panels(conditions, "learner"):
        lines = []
        for row in rows:
            theirs = _PaperCell(
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
                    rate(row["learning_rate"]) + (_EDGE if _true(row, "edge") else ""),
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
        f"selected on its validation part. Brackets: {_BOOTSTRAP}; n: seeds, and how many of them "
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
        notes=_mark_notes(panels),
        data=_data(records, conditions, dataset),
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
    for title, rows in _panels(gaps):
        lines = []
        by_optimizer: dict[str, dict[str, dict]] = {}
        for row in rows:
            by_optimizer.setdefault(row["optimizer"], {})[row["comparison"]] = row
        for optimizer, cells in by_optimizer.items():
            theirs = _paper_gap(paper, next(iter(cells.values())))
            line = [words.name("optimizer", optimizer)]
            line += [_gap_cell(cells.get(comparison)) for comparison in comparisons]
            line += [theirs.two_lines, _gap_seeds(cells)]
            lines.append(tuple(line))
            for row in cells.values():
                extra = theirs.record("gap_pp") if row["comparison"] == "paper" else {}
                records.append({**row, **extra})
            diverged += [_diverged_note(row) for row in cells.values() if _lost(row)]
        panels.append(Panel(title, lines))
    return Table(
        slug="bci_gap",
        title="Gradient and cadence",
        caption=words.simulated_prefix(dataset)
        + "Differences of held-out recovery (pp) in the two by two of gradient (immediate, full) "
        "and cadence (an update each step, each window of 200 steps). Full per step is exact RTRL, "
        "full per window TBPTT 200. Diagonal: full per window minus immediate per step, which the "
        f"paper compares. Brackets: {_BOOTSTRAP}; n: paired seeds.",
        columns=[
            Column("Optimizer"),
            *(_BCI_COLUMNS[comparison] for comparison in comparisons),
            Column("paper", "r", "Diagonal"),
            Column("n", "r"),
        ],
        panels=panels,
        notes=diverged + _mark_notes(panels),
        data=_data(records, gaps, dataset),
    )


def selection_price(prices: pd.DataFrame, dataset: dict) -> Table:
    """What selecting the rate on the held-out part would add to each recovery.

    Args:
        prices: results/selection_price: one row a condition (percent, pp, 95 % bootstrap).
        dataset: name, label, simulated.
    """
    panels, records = [], []
    for title, rows in _panels(prices, "learner"):
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
        f"second minus the first (pp). Brackets: {_BOOTSTRAP}; n: seeds. The paper reports no "
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
        data=_data(records, prices, dataset),
    )


def verdict(verdicts: pd.DataFrame, dataset: dict) -> Table:
    """Every registration's verdict, with the paper's figure for the claim it tests.

    Args:
        verdicts: results/verdicts: one row a registration.
        dataset: name, label, simulated.
    """
    lines, records, notes = [], [], []
    for row in verdict_rows(verdicts):
        claim = papers.load().claim_of(row["registration"]) or {}
        amended = _true(row, "amended")
        lines.append(
            (
                str(row["title"]) + (" †" if amended else ""),
                str(row["outcome"]),
                verdict_estimate(row),
                threshold(row["threshold"]),
                count(row["n"]),
                claim.get("paper", MISSING),
            )
        )
        records.append({**row, "paper": claim.get("paper"), "paper_place": claim.get("place")})
        if row["outcome"] != "supported" and not is_missing(row["reason"]):
            notes.append(f"{row['title']}: {row['reason']}.".replace("..", "."))
    if "†" in "".join(line[0] for line in lines):
        notes.append("† amended after it was registered.")
    return Table(
        slug="verdict",
        title="Verdicts",
        caption=words.simulated_prefix(dataset)
        + "Every registration and its verdict. Brackets: the interval that the registration names; "
        "n: seeds."
        + (
            " A verdict on simulated sessions shows that the study works, not what the brain does."
            if dataset.get("simulated")
            else ""
        ),
        columns=[
            Column("Registration", r"p{0.23\linewidth}"),
            Column("Verdict"),
            Column("Estimate", r"p{0.205\linewidth}"),
            Column("Threshold", r"p{0.115\linewidth}"),
            Column("n", "r"),
            Column("The paper", r"p{0.19\linewidth}"),
        ],
        panels=[Panel("", lines)],
        notes=notes,
        data=_data(records, verdicts, dataset),
    )


def verdict_rows(verdicts: pd.DataFrame) -> list[dict]:
    """The verdicts as dicts, in the order of the paper's claims; further ones follow."""
    order = papers.load().registrations
    rank = {name: i for i, name in enumerate(order)}
    return sorted(_records(verdicts), key=lambda row: rank.get(row["registration"], len(order)))


def verdict_estimate(row: pd.Series | dict) -> str:
    """A verdict's estimate and interval, two digits after the point."""
    return estimate(row["estimate"], row["low"], row["high"], digits=2)


def threshold(value: object) -> str:
    """A verdict's threshold: words as they are, a number with the digits it needs."""
    if isinstance(value, str):
        return value
    return MISSING if is_missing(value) else f"{value:g}".replace("-", "−")


class _PaperCell:
    """A number of the paper as a cell, with the mark of the run it comes from."""

    def __init__(self, theirs: Number | None, digits: int = 1, signed: bool = False):
        self._theirs = theirs
        self._digits = digits
        self._signed = signed

    @property
    def learning_rate(self) -> float | None:
        return self._theirs.learning_rate if self._theirs else None

    @property
    def _mark(self) -> str:
        return _CONFIGURATION_MARKS.get(self._theirs.configuration, "") if self._theirs else ""

    def _number(self, signed: bool) -> str:
        return number(self._theirs.value if self._theirs else None, self._digits, signed)

    @property
    def cell(self) -> str:
        """The paper's number or words in one line."""
        words_of_paper = self._theirs.text if self._theirs else None
        return (words_of_paper or self._number(self._signed)) + self._mark

    @property
    def two_lines(self) -> str:
        """The number over its interval, or the words in two lines."""
        if self._theirs is None:
            return MISSING
        if self._theirs.text:
            return self._theirs.text.replace(" ", "\n", 1) + self._mark
        ends = interval(self._theirs.low, self._theirs.high)
        return f"{self.cell}\n{ends}".rstrip("\n")

    def record(self, name: str, with_rate: bool = False) -> dict:
        theirs = self._theirs
        record = {
            f"paper_{name}": theirs.value if theirs else None,
            "paper_text": theirs.text if theirs else None,
            "paper_low": theirs.low if theirs else None,
            "paper_high": theirs.high if theirs else None,
            "paper_configuration": theirs.configuration if theirs else None,
            "paper_place": theirs.place if theirs else None,
        }
        if with_rate:
            record["paper_learning_rate"] = theirs.learning_rate if theirs else None
        return record


def _paper_gap(paper: Paper, row: dict) -> _PaperCell:
    theirs = paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    return _PaperCell(theirs, signed=True)


def _paper_ratio(paper: Paper, row: dict) -> dict | None:
    """The paper's ratio table holds for one condition only: RNN, float64, 80/20."""
    if (row["architecture"], row["precision"], row["split"]) != ("rnn", "float64", "80-20"):
        return None
    return paper.ratio_gap(row["optimizer"])


def _ratio_table_gap(paper: Paper, row: dict) -> _PaperCell:
    theirs = _paper_ratio(paper, row)
    if theirs is None:
        return _paper_gap(paper, row)
    place = paper.document["ratio_gap"]["place"]
    text = theirs.get("gap_text")
    gap = Number(theirs["gap_pp"], text, None, None, None, "local-f64", place)
    return _PaperCell(gap, digits=0, signed=True)


def _panels(frame: pd.DataFrame, *more: str) -> Iterable[tuple[str, list[dict]]]:
    if frame.empty:
        return
    ordered = words.arrange(frame)
    for _, rows in ordered.groupby([*_PANEL, *more], sort=False):
        first = rows.iloc[0]
        titles = [words.condition(first), *(words.name(kind, first[kind]) for kind in more)]
        yield ": ".join(titles), _records(rows)


def _records(frame: pd.DataFrame) -> list[dict]:
    return frame.to_dict("records")


def _true(row: dict, column: str) -> bool:
    value = row.get(column, False)
    return not is_missing(value) and bool(value)


def _lost(row: dict) -> int:
    value = row.get("n_diverged", 0)
    return 0 if is_missing(value) else int(value)


def _seeds(row: dict) -> str:
    lost = _lost(row)
    return count(row["n_seeds"]) + (f" ({lost} div.)" if lost else "")


def _diverged_or(row: dict, cell: str) -> str:
    if is_missing(row["recovery_percent"]) and _lost(row):
        return "diverged"
    return cell + (_UNRELIABLE if _true(row, "unreliable") else "")


def _gap_cell(row: dict | None) -> str:
    if row is None:
        return MISSING
    if is_missing(row["gap_pp"]):
        return "diverged" if _lost(row) else MISSING
    mark = _UNRELIABLE if _true(row, "unreliable") else ""
    ends = interval(row["low_pp"], row["high_pp"]) if row["n_seeds"] > 1 else ""
    return f"{number(row['gap_pp'], signed=True)}{mark}\n{ends}".rstrip("\n")


def _gap_seeds(cells: dict[str, dict]) -> str:
    counts = sorted({int(row["n_seeds"]) for row in cells.values()})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _diverged_note(row: dict) -> str:
    lost = _lost(row)
    seeds = "1 seed is" if lost == 1 else f"{lost} seeds are"
    comparison = words.name("comparison", row["comparison"]).partition(":")[0]
    optimizer = words.name("optimizer", row["optimizer"])
    return f"{optimizer}, {words.condition(row)}, {comparison}: {seeds} left out (diverged)."


def _order_note(row: dict) -> str:
    rank = estimate(row["spearman"], row["low"], row["high"], digits=2, signed=True)
    return (
        f"Rank correlation of ratio and gap over {count(row['n_optimizers'])} optimizers, "
        f"{words.condition(row)}: {rank} (95 % bootstrap interval over {count(row['n_seeds'])} "
        "seeds; the paper's four are in one order)."
    )


def _mark_notes(panels: list[Panel]) -> list[str]:
    cells = "".join(cell for panel in panels for row in panel.rows for cell in row)
    return [note for mark, note in _MARK_NOTES.items() if mark in cells]


def _data(records: list[dict], frame: pd.DataFrame, dataset: dict) -> pd.DataFrame:
    data = pd.DataFrame.from_records(records) if records else frame.copy()
    data.insert(0, "simulated", bool(dataset.get("simulated")))
    data.insert(0, "dataset", dataset.get("name", ""))
    return data
