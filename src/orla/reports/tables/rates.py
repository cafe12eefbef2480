"""Tables of learning rates: what their choice adds, where models diverge, what recovery is of."""

from collections.abc import Sequence
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Cell, Line, Row, cell, part_name, value, with_interval
from orla.reports.numbers import MISSING, Number, count, is_missing, number, rate
from orla.reports.paper import load
from orla.reports.study import PAPERS, StudyFacts, where
from orla.reports.tables.base import Contents, Table
from orla.reports.tables.shared import T_INTERVAL

_ENDS = ("lowest", "highest")
_VALIDATION, _BEST = "Rate by validation", "Rate best on the adapt part"
_MEASURE, _MEASURE_THERE = "recovery_adapt_percent", "adapt_recovery_percent"


class SelectionPrice(
    Table, name="selection_price", label="The price of selecting on the test part",
    chapter="rates", order=10, needs=("selection_price",),
):  # fmt: skip
    """What selecting the rate on the held-out part would add to each recovery."""

    says = f"""Held-out recovery (percent) with the rate selected by rolling-origin validation, by
    one freezing before the last fifth of the adapt part, and on the held-out part itself. Price:
    the last minus the first (pp). Other: share of resamples of seeds that choose another rate (%).
    The runner-up stands in the .csv. Brackets: {T_INTERVAL}; n: seeds."""
    papers = """ The caption of the paper's Table 6 says that its rates were selected on the
    held-out part; it reports no price."""
    by = ("learner",)
    layout: ClassVar = {"size": "scriptsize"}
    cells = (
        part_name("optimizer"),
        value("Rate", "learning_rate", rate, "Rolling"),
        cell("Other", lambda o: number(100 * o.row["other_rate_share"], 0), "Rolling"),
        value("Recovery", "recovery_validation_selected_percent", group="Rolling"),
        value("Rate", "learning_rate_tail", rate, "One freezing"),
        value("Recovery", "recovery_tail_selected_percent", group="One freezing"),
        value("Rate", "learning_rate_test", rate, "Held-out"),
        value("Recovery", "recovery_test_selected_percent", group="Held-out"),
        with_interval("Price (pp)", "price_pp", "t95_low_pp", "t95_high_pp", signed=True),
        value("n", "n_seeds", count),
    )


class Divergence(
    Table, name="divergence", label="Where models diverge", chapter="rates", order=20,
    needs=("lr_curves",),
):  # fmt: skip
    """Of every rate that was tried, a row an optimizer; where some model diverged."""

    says = """Models that diverged at any rate that was tried: their error was no number or above a
    million. First: the step at which the first of them diverged, and the median step. Safe: the
    largest rate up to which every model survived. Conditions without a diverged model are left
    out."""
    papers = """ The paper's RWKV on chaotic dynamics (Appendix R): with Adam and RMSprop every seed
    diverges, with Adam within 17 steps; with SGD every seed survives."""
    empty = False
    by = ("learner",)
    cells = (
        part_name("optimizer"),
        cell("Rates tried", lambda o: " to ".join(rate(o.row[f"{e}_rate"]) for e in _ENDS)),
        value("Models", "n_models", count),
        cell("Diverged", lambda o: f"{number(100 * o.row['n_diverged'] / o.row['n_models'], 0)} %"),
        value("First", "first_step", count, "Step"),
        value("Median", "median_step", count, "Step"),
        value("Safe up to", "safe_rate", rate),
    )

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        lines = []
        for name in study.distinct(rows, "optimizer") if rows["diverged"].any() else ():
            models = where(rows, optimizer=name)
            has_diverged = models["diverged"].astype(bool)
            steps = models.loc[has_diverged, "diverged_step"]
            by_rate = has_diverged.groupby(models["learning_rate"]).any().sort_index()
            rates, safe = by_rate.index, by_rate.index[~by_rate.cummax()]
            line = keys | {"optimizer": name, "rates": len(rates)}
            line |= {"lowest_rate": rates[0], "highest_rate": rates[-1]}
            line |= {"n_models": len(models), "n_diverged": int(has_diverged.sum())}
            line |= {"first_step": float(steps.min()), "median_step": float(steps.median())}
            lines.append(line | {"safe_rate": float(safe.max())})
        return lines


class AdaptWindow(
    Table, name="adapt_window", label="Recovery over the adapt part, by definition",
    chapter="rates", order=20, needs=("lr_curves",),
):  # fmt: skip
    """What the paper's adapt-window recoveries would be under each reading of its words."""

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        full = study.called("learner", study.comparison(PAPERS).minuend)
        optimizer = study.called("optimizer", load().headline["optimizer"])
        return f"""Recovery over the adapt part (%), while immediate derivatives learn. Reference:
        the error without drift counts as 100, as in every other table. Full: what “{full}” recovers
        over the same part counts as 100, with {optimizer}, or with the same optimizer. Mean over
        seeds of one pair; rates at which a model diverged are left out of the best."""

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        optimizer = study.called("optimizer", load().headline["optimizer"])
        return (
            part_name("optimizer"),
            value("Reference", "own_reference_percent", group=_VALIDATION, digits=0),
            value("Reference", "best_reference_percent", group=_BEST, digits=0),
            value(f"Full, {optimizer}", "best_full_default_percent", group=_BEST, digits=0),
            value("Full, same", "best_full_same_percent", group=_BEST, digits=0),
            cell("paper", _papers_percent_text),
        )

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        if study.applicable_paper(keys, PAPERS) is None:
            return []
        _, full, immediate = study.comparison(PAPERS)
        means = rows.groupby(["learner", "optimizer", "learning_rate"])[_MEASURE]
        means = means.agg(lambda values: values.mean(skipna=False))
        best = means.groupby(["learner", "optimizer"]).max()
        selected_rows = rows[rows["selected"].astype(bool)]
        by_validation = selected_rows.groupby(["learner", "optimizer"])[_MEASURE].mean()
        default, table = load().headline["optimizer"], load().table("optimizers")
        papers = {row["optimizer"]: row for row in table if _MEASURE_THERE in row}
        lines = []
        for name in study.distinct(where(rows, learner=immediate), "optimizer"):
            recovery, paper = best.get((immediate, name)), papers.get(name, {})
            line = keys | {
                "optimizer": name,
                "own_reference_percent": by_validation.get((immediate, name)),
                "best_reference_percent": recovery,
                "best_full_default_percent": _percentage(recovery, best.get((full, default))),
                "best_full_same_percent": _percentage(recovery, best.get((full, name))),
                "paper_percent": paper.get(_MEASURE_THERE),
                "paper_spread_percent": paper.get("spread_percent"),
            }
            lines.append(line)
        return lines

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        return ["The paper: its Table 5, in float32, ± as printed."] if contents.panels else []


class HorizonGaps(
    Table, name="horizon_gaps", label="Gap by adapt horizon", chapter="horizon", order=10,
    needs=("horizon_gaps",),
):  # fmt: skip
    """The gap of the main comparison, had the models stopped adapting earlier."""

    cells = (
        part_name("optimizer"),
        value("Steps", "horizon_steps", "{:,.0f}".format),
        with_interval("Gap (pp)", "gap_pp", "t95_low_pp", "t95_high_pp", signed=True),
        value("n", "n_seeds", count),
    )
    says = f"""Gap of {{main}} by the steps adapted to. Brackets: {T_INTERVAL}; n: seeds. Seeds that
    share a stream share the step at which adaptation stops, so these intervals do not hold the
    variation between horizons."""


def _percentage(value: Number, whole: Number) -> Number:
    """A share of a whole in percent; None where the whole is not positive."""
    return None if is_missing(value) or is_missing(whole) or whole <= 0 else 100 * value / whole


def _papers_percent_text(line: Line) -> str:
    if is_missing(line.row["paper_percent"]):
        return MISSING
    numbers = (line.row[f"paper_{name}"] for name in ("percent", "spread_percent"))
    return " ± ".join(number(value, 0) for value in numbers)
