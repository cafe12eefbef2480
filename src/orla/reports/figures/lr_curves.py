"""Recovery against learning rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import facets, one_condition, say
from orla.reports.numbers import rate
from orla.reports.study import StudyFacts

# Recoveries far below zero belong to runs that nearly diverge: drawn here, as an open triangle.
_FLOOR_PERCENT = -20.0


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

    def draw(self, curves: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows, title = one_condition(curves, study)
        looks = study.marks("split", study.present(rows, "split"))
        with style.house():
            figure, plots = facets(
                study.names(rows, "learner"),
                study.names(rows, "optimizer"),
                row_in=1.25,
                around_in=0.7,
                along="column",
                drawn=set(zip(rows["learner"], rows["optimizer"], strict=True)),
                xlabel="Learning rate",
            )
            limits = _recovery_limits(rows)
            for (learner, optimizer), axes in plots.items():
                facet = rows[(rows["learner"] == learner) & (rows["optimizer"] == optimizer)]
                _curve_facet(axes, facet, limits, looks)
            figure.supylabel("Held-out recovery (%)", fontsize=style.FONT_PT)
            splits = {study.called("split", split): look for split, look in looks.items()}
            figure.legend(
                handles=_curve_legend(splits),
                loc="outside lower center",
                ncols=5,
                columnspacing=1.2,
            )
            style.heading(figure, study.of(rows).simulated, title)
            style.save(figure, *paths)

    def describe(self, curves: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows, title = one_condition(curves, study)
        lost = int(rows["diverged"].sum()) if len(rows) else 0
        chosen = rows[rows["selected"].astype(bool)]
        best = "; ".join(
            f"{study.called('optimizer', optimizer)} {_rates(part['learning_rate'])}"
            for optimizer, part in chosen.groupby("optimizer", sort=False)
        )
        return self.captioned(
            study.of(rows),
            f"Held-out recovery against learning rate ({title}). Every model is a dot; the line "
            "is the mean over seeds, drawn through rates where none diverged. A ring marks the "
            "rate selected on the validation part, a cross a rate where models diverged "
            f"({lost} of {len(rows)} models), an open triangle models under the axis.",
            "Grid of dot plots, learners by optimizers: held-out recovery by "
            f"learning rate. Selected rates over learners and splits: {best or 'none'}. The table "
            "of held-out recovery gives each.",
        )


def _recovery_limits(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows["recovery_heldout_percent"].dropna() if len(rows) else pd.Series([0.0, 50.0])
    if values.empty:
        return _FLOOR_PERCENT, 100.0
    low = max(min(values.min(), 0.0), _FLOOR_PERCENT)
    high = max(values.max(), 10.0)
    pad = 0.08 * (high - low)
    return low - 3 * pad, high + pad


def _curve_facet(
    axes: Axes, facet: pd.DataFrame, limits: tuple[float, float], looks: dict[str, Mark]
) -> None:
    if facet.empty:
        say(axes, "not run")
    style.zero_line(axes)
    axes.set_xscale("log")
    axes.set_ylim(*limits)
    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_minor_formatter(NullFormatter())
    floor = limits[0] + 0.14 * (limits[1] - limits[0])
    shown = [split for split in looks if (facet["split"] == split).any()]
    for i, split in enumerate(shown):
        shift = i - (len(shown) - 1) / 2
        _curve_split(axes, facet[facet["split"] == split], looks[split], floor, shift)


def _curve_split(axes: Axes, rows: pd.DataFrame, look: Mark, floor: float, shift: float) -> None:
    x = rows["learning_rate"] * 10 ** (0.13 * shift)
    y = rows["recovery_heldout_percent"]
    inside = y >= floor
    dots = {"color": look.color, "marker": look.marker, "zorder": 2}
    axes.scatter(x[inside], y[inside], s=7, alpha=0.55, linewidths=0, **dots)
    axes.scatter(
        x[y < floor],
        np.full((y < floor).sum(), floor),
        s=16,
        marker="v",
        facecolors="none",
        edgecolors=look.color,
        linewidths=0.8,
        zorder=2,
    )
    lost = rows["diverged"].astype(bool)
    bottom = axes.get_ylim()[0]
    axes.scatter(
        x[lost],
        np.full(lost.sum(), bottom + 0.3 * (floor - bottom)),
        s=16,
        marker="x",
        color=look.color,
        linewidths=1,
        zorder=3,
    )
    shifted = 10 ** (0.13 * shift)
    means = rows.groupby("learning_rate")["recovery_heldout_percent"].agg(
        lambda values: values.mean() if values.notna().all() else np.nan
    )
    axes.plot(
        means.index * shifted,
        means.where(means >= floor),
        color=look.color,
        linestyle=look.line,
        linewidth=1,
        zorder=2.5,
    )
    chosen = rows[rows["selected"]]
    if len(chosen) and chosen["recovery_heldout_percent"].notna().any():
        level = max(chosen["recovery_heldout_percent"].mean(), floor)
        axes.plot(
            chosen["learning_rate"].iloc[0] * shifted,
            level,
            marker="o",
            markersize=6.5,
            markerfacecolor="none",
            markeredgecolor=style.RING,
            markeredgewidth=1.3,
            linestyle="none",
            zorder=4,
        )


def _curve_legend(splits: dict[str, Mark]) -> list[Line2D]:
    handles = [
        Line2D(
            [],
            [],
            color=look.color,
            marker=look.marker,
            linestyle=look.line,
            markersize=3,
            linewidth=1,
            label=label,
        )
        for label, look in splits.items()
    ]
    signs = {
        "selected": {"marker": "o", "markersize": 7, "color": style.RING, "mew": 1.6},
        "diverged": {"marker": "x", "markersize": 4, "color": style.INK},
        "under the axis": {"marker": "v", "markersize": 4, "color": style.INK},
    }
    return handles + [
        Line2D([], [], linestyle="none", markerfacecolor="none", label=label, **look)
        for label, look in signs.items()
    ]


def _rates(values: pd.Series) -> str:
    low, high = rate(values.min()), rate(values.max())
    return low if low == high else f"{low} to {high}"
