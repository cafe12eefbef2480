"""Gradient norms and condition numbers by network."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import count_range, say, widest
from orla.reports.numbers import MISSING, scientific
from orla.reports.paper import load
from orla.reports.study import StudyFacts

# Columns of the models' table, which the probes of these names add; the paper's have these names.
_MEASURES = {
    "gradient_ratio": "Readout's gradient norm\nover the recurrent one",
    "condition_number": "Condition number\nof ∂h/∂θ",
}


class GradRatio(
    Figure,
    name="grad_ratio",
    label="Gradient norms and condition numbers by network",
    chapter="breadth",
    order=20,
    needs=("heldout",),
):
    """Ratio of gradient norms, and condition number, a row a network, seeds as dots.

    Of several tasks, learners and optimizers the one with most networks is drawn.
    """

    def draw(self, models: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows, title = _shown(models, study)
        networks = study.present(rows, "architecture")
        with style.house():
            figure, grid = plt.subplots(
                1,
                len(_MEASURES),
                figsize=(style.TWO_COLUMNS_IN, 1.3 + 0.24 * max(len(networks), 3)),
                squeeze=False,
                sharey=True,
                layout="constrained",
            )
            for axes, (measure, label) in zip(grid[0], _MEASURES.items(), strict=True):
                axes.set_xlabel(label)
                if measure not in rows or rows[measure].dropna().empty:
                    say(axes, "not run")
                    continue
                _panel(axes, rows, measure, networks, study)
                _decades(axes)
            grid[0, 0].set_yticks([-y for y in range(len(networks))],
                                  [study.called("architecture", n) for n in networks])  # fmt: skip
            grid[0, 0].set_ylim(-max(len(networks), 1) + 0.4, 0.6)
            for axes in grid[0]:
                axes.tick_params(axis="y", length=0)
            if networks:
                figure.legend(
                    handles=_legend(rows, study), loc="outside lower center", ncols=4,
                    columnspacing=1.2,
                )  # fmt: skip
            style.heading(figure, study.of(rows).simulated, title)
            style.save(figure, *paths)

    def ran(self, models: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _shown(models, study)[0].empty

    def describe(self, models: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows, title = _shown(models, study)
        seen = "; ".join(
            f"{study.called('architecture', network)}: {_median(rows, network, 'gradient_ratio')} "
            f"and {_median(rows, network, 'condition_number')}"
            for network in study.present(rows, "architecture")
        )
        caption = (
            "Norm of the readout's gradient over that of the recurrent parameters' (median over "
            "updates), and condition number of the step's Jacobian ∂h/∂θ of the recurrent "
            "parameters, the previous state held fixed (mean over the steps that were looked at), "
            f"{title}. Dots: seeds (n = {count_range(_counts(rows))}); marks: their median."
        )
        if _paper(rows):
            caption += (
                " Open diamonds and bars: the paper's numbers where it prints any (its Figure 4 "
                "and Appendix F); grey band: the condition numbers under 10 that it gives for "
                "five of its seven networks."
            )
        alt = "Dot plots, a row a network; medians of ratio and condition number."
        return self.captioned(study.of(rows), caption, f"{alt} {seen or 'No data'}.")


def _shown(models: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The models that were measured, of the condition with most networks, and its title."""
    known = [name for name in _MEASURES if name in models]
    return widest(models.dropna(subset=known, how="all") if known else models[:0], study,
                  "architecture")  # fmt: skip


def _counts(rows: pd.DataFrame) -> pd.Series:
    return rows.groupby("architecture")["seed"].nunique()


def _median(rows: pd.DataFrame, network: str, measure: str) -> str:
    own = rows[rows["architecture"] == network]
    value = own[measure].median() if measure in own else np.nan
    return MISSING if np.isnan(value) else f"{value:.3g}"


def _paper(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The paper's rows, which are of one task."""
    tasks = set(rows["task"]) if len(rows) else set()
    return [row for row in load().table("gradient_ratio") if row.get("task") in tasks]


def _panel(
    axes: Axes, rows: pd.DataFrame, measure: str, networks: list[str], study: StudyFacts
) -> None:
    theirs = _paper(rows)
    for row in theirs:
        if f"{measure}_below" in row:
            axes.axvspan(1, row[f"{measure}_below"], color=style.BAND, zorder=0)
    for y, network in enumerate(networks):
        values = rows.loc[rows["architecture"] == network, measure].dropna()
        if values.empty:
            continue
        dots = {"s": 7, "color": style.QUIET, "linewidths": 0, "zorder": 2}
        axes.scatter(values, np.full(len(values), -y), **dots)
        axes.plot(values.median(), -y, color=style.INK, marker="|", markersize=9, zorder=3)
        kind = study.declaration("architecture", network).get("name", network)
        for row in theirs:
            if row["architecture"] in (kind, network):
                _printed(axes, row, measure, -y - 0.25)


def _decades(axes: Axes) -> None:
    """A logarithmic axis of whole decades, two at least."""
    axes.set_xscale("log")
    axes.autoscale_view()
    low, high = (np.log10(end) for end in axes.get_xlim())
    first, last = int(np.floor(low + 0.1)), int(np.ceil(high - 0.1))
    axes.set_xlim(10.0**first, 10.0 ** max(last, first + 2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    return f"{value:g}" if 1e-3 < value < 1e4 else scientific(value)


def _printed(axes: Axes, row: dict[str, Any], measure: str, y: float) -> None:
    """A number of the paper, or the range that it prints."""
    look = {"color": style.RING, "zorder": 4}
    if measure in row:
        axes.plot(row[measure], y, marker="D", markerfacecolor="white", linestyle="none", **look)
    elif f"{measure}_from" in row:
        ends = row[f"{measure}_from"], row[f"{measure}_to"]
        axes.plot(ends, (y, y), marker="|", linewidth=1.6, **look)


def _legend(rows: pd.DataFrame, study: StudyFacts) -> list[Any]:
    def line(label: str, **more: Any) -> Line2D:
        return Line2D([], [], **{"linestyle": "none", "label": label, **more})

    handles: list[Any] = [
        line("seed", marker="o", markersize=3, color=style.QUIET),
        line("median", marker="|", markersize=9, color=style.INK),
    ]
    if _paper(rows):
        handles += [
            line("the paper's", marker="D", color=style.RING, markerfacecolor="white"),
            plt.Rectangle((0, 0), 1, 1, color=style.BAND, label="the paper's five of seven"),
        ]
    return handles
