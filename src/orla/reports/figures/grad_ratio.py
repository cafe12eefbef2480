"""Gradient norms and condition numbers by network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import count_range, facets, key, legend, most, say, swatch
from orla.reports.numbers import MISSING, scientific
from orla.reports.paper import load
from orla.reports.study import StudyFacts

# Columns of the models' table, which the probes of these names add; the paper's have these names.
_MEASURES = {
    "gradient_ratio": "Readout's gradient norm\nover the recurrent one",
    "condition_number": "Condition number\nof ∂h/∂θ",
}
_PAPERS = {"color": style.RING, "marker": "D", "markerfacecolor": "white", "linestyle": "none"}
_MEDIAN = {"color": style.INK, "marker": "|", "markersize": 9, "linestyle": "none"}


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

    def select(self, models: pd.DataFrame, *, study: StudyFacts) -> Selection:
        models = models.reindex(columns=list(dict.fromkeys([*models, *_MEASURES])))
        models = models.dropna(subset=list(_MEASURES), how="all")
        selection = most(models, study, over=["architecture"])
        paper = load().table("gradient_ratio")
        tasks = set(selection.rows["task"])
        of_task = [row for row in paper if row.get("task") in tasks]
        return Selection(selection.rows, selection.title, more={"paper": of_task})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, paper = selection.rows, selection.more["paper"]
        names = study.names(rows, "architecture")
        height = 0.24 * max(len(names), 3)
        figure, plots = facets(dict.fromkeys(_MEASURES, ""), row_in=height, around_in=1.3, x="plot")
        for measure, axes in plots.items():
            if rows[measure].notna().any():
                _panel(axes, rows, measure, list(names))
                _printed(axes, measure, paper, list(names), study)
                _decades(axes)
            else:
                say(axes, "not run")
            axes.set(xlabel=_MEASURES[measure], ylabel="")
            axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(names)), names.values())
        axes.set_ylim(len(names) - 0.4, -0.6)
        handles = [
            key("seed", marker="o", markersize=3, color=style.QUIET),
            key("median", **_MEDIAN),
        ]
        if paper:
            handles += [key("the paper's", **_PAPERS), swatch("the paper's five of seven")]
        legend(figure, handles)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        by_network = rows.groupby("architecture")
        medians = by_network[list(_MEASURES)].median()
        items = "; ".join(
            f"{label}: "
            + " and ".join(MISSING if np.isnan(v) else f"{v:.3g}" for v in medians.loc[name])
            for name, label in study.names(rows, "architecture").items()
        )
        caption = (
            "Norm of the readout's gradient over that of the recurrent parameters' (median over "
            "updates), and condition number of the step's Jacobian ∂h/∂θ of the recurrent "
            "parameters, the previous state held fixed (mean over the steps that were looked at), "
            f"{selection.title}. Dots: seeds (n = {count_range(by_network['seed'].nunique())}); "
            "marks: their median."
        )
        if selection.more["paper"]:
            caption += (
                " Open diamonds and bars: the paper's numbers where it prints any (its Figure 4 "
                "and Appendix F); grey band: the condition numbers under 10 that it gives for "
                "five of its seven networks."
            )
        alt = "Dot plots, a row a network; medians of ratio and condition number."
        return caption, f"{alt} {items}."


def _panel(axes: Axes, rows: pd.DataFrame, measure: str, names: list[str]) -> None:
    seeds = {"color": style.QUIET, "size": 2.6, "jitter": False, "zorder": 2}
    sns.stripplot(rows, x=measure, y="architecture", order=names, ax=axes, **seeds)
    medians = rows.groupby("architecture")[measure].median()
    axes.plot(medians.reindex(names), range(len(names)), zorder=3, **_MEDIAN)


def _printed(
    axes: Axes, measure: str, paper: list[dict[str, Any]], names: list[str], study: StudyFacts
) -> None:
    """The paper's numbers, or the ranges that it prints, under the networks' own."""
    for row in paper:
        if f"{measure}_below" in row:
            axes.axvspan(1, row[f"{measure}_below"], color=style.BAND, zorder=0)
        for y, name in enumerate(names):
            kind = study.declaration("architecture", name).get("name", name)
            if row["architecture"] not in (kind, name):
                continue
            if measure in row:
                axes.plot(row[measure], y + 0.25, zorder=4, **_PAPERS)
            elif f"{measure}_from" in row:
                ends = row[f"{measure}_from"], row[f"{measure}_to"]
                axes.plot(
                    ends, [y + 0.25] * 2, marker="|", linewidth=1.6, color=style.RING, zorder=4
                )


def _decades(axes: Axes) -> None:
    """A logarithmic axis of whole decades, two at least."""
    axes.set_xscale("log")
    axes.autoscale_view()
    low, high = (np.log10(end) for end in axes.get_xlim())
    first, last = int(np.floor(low + 0.1)), int(np.ceil(high - 0.1))
    axes.set_xlim(10.0**first, 10.0 ** max(last, first + 2))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x:g}" if 1e-3 < x < 1e4 else scientific(x))
    )
    axes.xaxis.set_minor_formatter(NullFormatter())
