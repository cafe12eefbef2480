"""Recovery against learning rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import facets, key, keys_of, legend, most, say, where
from orla.reports.numbers import rate
from orla.reports.study import StudyFacts

_RECOVERY = "recovery_heldout_percent"
# Recoveries far below zero belong to runs that nearly diverge: drawn here, as an open triangle.
_FLOOR_PERCENT = -20.0
# Decades between two splits of one rate.
_APART = 0.13
_SIGNS = {
    "selected": {"marker": "o", "markersize": 7, "color": style.RING, "mew": 1.6},
    "diverged": {"marker": "x", "markersize": 4},
    "under the axis": {"marker": "v", "markersize": 4},
}


class LrCurves(
    Figure,
    name="lr_curves",
    label="Recovery against learning rate",
    chapter="rates",
    order=10,
    needs=("lr_curves",),
):
    """Held-out recovery against learning rate, every model a dot, a facet a learner x optimizer.

    Of several conditions that of most learners and optimizers is drawn.
    """

    def select(self, curves: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return most(curves, study, over=["learner", "optimizer"], beside=["split"])

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        looks = study.marks("split", study.present(rows, "split"))
        figure, plots = facets(
            study.names(rows, "optimizer"),
            study.names(rows, "learner"),
            row_in=1.25,
            around_in=0.7,
            x="column",
            xlabel="Learning rate",
            ylabel="Held-out recovery (%)",
            cells=set(zip(rows["learner"], rows["optimizer"], strict=True)),
        )
        limits = _limits(rows[_RECOVERY].dropna())
        for (learner, optimizer), axes in plots.items():
            _panel(axes, where(rows, {"learner": learner, "optimizer": optimizer}), limits, looks)
        handles = keys_of("split", looks, study, lines=True, markersize=3, linewidth=1)
        handles += [key(label, markerfacecolor="none", **look) for label, look in _SIGNS.items()]
        legend(figure, handles, ncols=5)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        best = "; ".join(
            f"{study.called('optimizer', optimizer)} {_rates(part['learning_rate'])}"
            for optimizer, part in rows[rows["selected"].astype(bool)].groupby(
                "optimizer", sort=False
            )
        )
        return (
            f"Held-out recovery against learning rate ({selection.title}). Every model is a dot; "
            "the line is the mean over seeds, drawn through rates where none diverged. A ring "
            "marks the rate selected on the validation part, a cross a rate where models diverged "
            f"({int(rows['diverged'].sum())} of {len(rows)} models), an open triangle models under "
            "the axis.",
            "Grid of dot plots, learners by optimizers: held-out recovery by "
            f"learning rate. Selected rates over learners and splits: {best or 'none'}. The table "
            "of held-out recovery gives each.",
        )


def _limits(values: pd.Series) -> tuple[float, float]:
    if values.empty:
        return _FLOOR_PERCENT, 100.0
    low = max(min(values.min(), 0.0), _FLOOR_PERCENT)
    high = max(values.max(), 10.0)
    pad = 0.08 * (high - low)
    return low - 3 * pad, high + pad


def _panel(
    axes: Axes, rows: pd.DataFrame, limits: tuple[float, float], looks: dict[str, Mark]
) -> None:
    if rows.empty:
        say(axes, "not run")
    style.zero_line(axes)
    axes.set_xscale("log")
    axes.set_ylim(*limits)
    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_minor_locator(NullLocator())
    floor = limits[0] + 0.14 * (limits[1] - limits[0])
    splits = [split for split in looks if (rows["split"] == split).any()]
    for i, split in enumerate(splits):
        apart = 10 ** (_APART * (i - (len(splits) - 1) / 2))
        _curve(axes, where(rows, {"split": split}), looks[split], floor, apart)


def _curve(axes: Axes, rows: pd.DataFrame, look: Mark, floor: float, apart: float) -> None:
    x, y = rows["learning_rate"] * apart, rows[_RECOVERY]
    inside, under, lost = y >= floor, y < floor, rows["diverged"].astype(bool)
    bottom = axes.get_ylim()[0] + 0.3 * (floor - axes.get_ylim()[0])
    color = {"color": look.color}
    axes.scatter(x[inside], y[inside], s=7, alpha=0.55, linewidths=0, marker=look.marker, **color)
    sign = {"s": 16, "linewidths": 0.8, "facecolors": "none", "edgecolors": look.color}
    axes.scatter(x[under], np.full(under.sum(), floor), marker="v", **sign)
    axes.scatter(x[lost], np.full(lost.sum(), bottom), s=16, marker="x", linewidths=1, **color)
    by_rate = rows.groupby("learning_rate")[_RECOVERY]
    means = by_rate.mean().where(by_rate.count() == by_rate.size())
    line = {"linestyle": look.line, "linewidth": 1, "zorder": 2.5}
    axes.plot(means.index * apart, means.where(means >= floor), **line, **color)
    best = rows[rows["selected"].astype(bool)]
    if best[_RECOVERY].notna().any():
        ring = {"marker": "o", "markersize": 6.5, "markerfacecolor": "none", "zorder": 4}
        ring |= {"markeredgecolor": style.RING, "markeredgewidth": 1.3, "linestyle": "none"}
        place = best["learning_rate"].iloc[0] * apart, max(best[_RECOVERY].mean(), floor)
        axes.plot(*place, **ring)


def _rates(values: pd.Series) -> str:
    low, high = rate(values.min()), rate(values.max())
    return low if low == high else f"{low} to {high}"
