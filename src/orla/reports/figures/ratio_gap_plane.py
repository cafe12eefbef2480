"""Update ratio against recovery gap, an optimizer a point."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import (
    PLAIN,
    bars,
    count_range,
    facets,
    key,
    keys_of,
    legend,
    most,
    where,
)  # fmt: skip
from orla.reports.numbers import estimate
from orla.reports.paper import load
from orla.reports.study import StudyFacts, in_paper

_LABEL = "‖ΔW_hh‖/‖ΔW_out‖"
_MOST_PANELS = 3
# Digits of the ticks of a decade, the densest first.
_TICKS = ((1, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,))
_MOST_TICKS = 6
# From here on numbers are long, so that they need more room.
_LONG = 1000


class RatioGapPlane(
    Figure,
    name="ratio_gap_plane",
    label="Update ratio against recovery gap",
    chapter="mechanism",
    order=10,
    needs=("ratio_gap",),
):
    """Both with their intervals, a panel a split; of several networks that of most optimizers."""

    def select(self, ratios: pd.DataFrame, *, study: StudyFacts) -> Selection:
        both = ratios.dropna(subset=["update_ratio", "gap_pp"])
        return most(both, study, over=["optimizer"], beside=["split"])

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        looks = study.marks("optimizer", study.present(rows, "optimizer"))
        splits = dict(list(study.names(rows, "split").items())[:_MOST_PANELS])
        figure, plots = facets(
            splits, row_in=2, around_in=1, x="plot", xlabel=_LABEL, ylabel="Gap (pp)",
            width_in=style.TWO_COLUMNS_IN,
        )  # fmt: skip
        handles = keys_of("optimizer", looks, study)
        for split, axes in plots.items():
            points = where(rows, {"split": split})
            style.zero_line(axes)
            for row in points.to_dict("records"):
                _point(axes, row, looks[row["optimizer"]])
            for point in _papers(points, study):
                look = looks.get(point["optimizer"], Mark(style.QUIET, "D"))
                hollow = {"marker": "D", "markersize": 5, "markerfacecolor": "white"}
                hollow |= {"markeredgecolor": look.color, "linestyle": "none"}
                axes.plot(point["update_ratio"], point["gap_pp"], **hollow)
            _ticks(axes)
        if _has_paper(rows, study):
            paper = {"marker": "D", "markerfacecolor": "white", "color": style.QUIET}
            handles.append(key("the paper's", **paper))
        legend(figure, handles, ncols=1, loc="outside right center")
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        items = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, {study.called('split', row['split'])}:"
            f" ratio {estimate(row['update_ratio'], digits=2)}, gap "
            f"{estimate(row['gap_pp'], row['low_pp'], row['high_pp'], signed=True)} pp"
            for row in rows.to_dict("records")
        )
        paper = " Hollow diamonds: the paper's Table 3." if _has_paper(rows, study) else ""
        return (
            f"Mean over updates of {_LABEL} under the comparison's first learner, and the "
            f"held-out recovery gap of {study.words(study.main)}, {selection.title}, by optimizer. "
            "Bars: 95 % percentile bootstrap intervals over seeds (n = "
            f"{count_range(rows['n_seeds'])}).{paper}",
            f"Scatter plot, a panel a split. {items}.",
        )


def _ticks(axes: Axes) -> None:
    """A logarithmic axis with a few plain numbers."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    within: list[float] = []
    for digits in _TICKS if high < _LONG else _TICKS[-1:]:
        ticks = [digit * 10.0**power for power in range(-4, 6) for digit in digits]
        within = [tick for tick in ticks if low <= tick <= high]
        if len(within) <= _MOST_TICKS:
            break
    axes.set_xticks(within)
    axes.xaxis.set_major_formatter(PLAIN)
    axes.xaxis.set_minor_locator(NullLocator())


def _point(axes: Axes, row: dict[str, Any], look: Mark) -> None:
    place, across = (row["update_ratio"], row["gap_pp"]), {"marker": "", "capsize": 0}
    ends = row["update_ratio_low"], row["update_ratio_high"]
    bars(axes, *place, *ends, look, across=True, **across)
    bars(axes, *place, row["low_pp"], row["high_pp"], look)


def _papers(rows: pd.DataFrame, study: StudyFacts) -> list[dict[str, Any]]:
    """The paper's points, where its table is of the condition of these rows."""
    keys = rows.iloc[0].to_dict()
    if study.paper(keys, study.main) is None:
        return []
    same = ("architecture", "precision", "split")
    return [
        row
        for row in map(load().ratio_gap, in_paper("optimizer"))
        if row and all(row[name] == keys[name] for name in same)
    ]


def _has_paper(rows: pd.DataFrame, study: StudyFacts) -> bool:
    return any(_papers(points, study) for _, points in rows.groupby("split", sort=False))
