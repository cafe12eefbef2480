"""What figures share: the condition that is drawn, plots by facet, intervals, keys and lists."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Selection
from orla.reports.study import StudyFacts, where
from orla.reports.words import NOT_RUN
from orla.study.keys import KEYS

# A figure, and its plots with the rows of each.
Panels = tuple[Canvas, list[tuple[Axes, pd.DataFrame]]]
THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
# The paper's numbers; where colours mean something, in another one.
PAPERS = {"color": style.RING, "marker": "D", "markerfacecolor": "white", "linestyle": "none"}
_DOT = {"markeredgecolor": style.INK, "markeredgewidth": 0.4}
# Characters of titles that fit beside each other over a whole page.
_TITLES = 88


def largest_condition(
    frame: pd.DataFrame,
    study: StudyFacts,
    over: Sequence[str],
    beside: Sequence[str] = (),
    keys: Collection[str] = KEYS,
) -> Selection:
    """The condition in which the columns `over` have most values together, the first of several.

    The columns `keys` set conditions apart. Those of `beside` are ignored, as a figure that draws
    all splits ignores the split.
    """
    key_columns = [key for key in keys if key in frame and key not in {*over, *beside}]
    conditions = study.arrange(frame[[*key_columns, *over]].drop_duplicates())
    sizes = conditions.groupby(key_columns, sort=False).size()
    if sizes.empty:
        return Selection(frame[:0])
    best = dict(zip(key_columns, sizes.idxmax(), strict=True))
    last = [study.called(kind, best[kind]) for kind in ("learner", "optimizer") if kind in best]
    title = ", ".join([study.condition_title(best, frame), *last])
    return Selection(study.arrange(where(frame, **best)), title, best)


def facets(
    columns: Mapping[Any, str],
    rows: Mapping[Any, str] | None = None,
    *,
    row_height_in: float | Sequence[float],
    margin_in: float,
    x: str = "all",
    y: str = "all",
    xlabel: str = "",
    ylabel: str = "",
    wrap: int = 4,
    width_in: float | None = None,
) -> tuple[Canvas, dict[Any, Axes]]:
    """A plot for each column, or each row and column, which are given with their titles.

    Args:
        columns, rows: titles; of columns `wrap` stand abreast, further ones below.
        row_height_in, margin_in: inches of a row of plots, or of each, and of all around them.
        x, y: which plots share this axis: all, those of a "row" or "column", or none ("plot").
        xlabel, ylabel: under the lowest plots, and at the left of all.
        width_in: of the figure; by default one column of text for one plot, else two.
    """
    names, lines = list(columns), list(rows or [None])
    n_columns = min(len(names), wrap)
    places = [(row, names[at : at + wrap]) for at in range(0, len(names), wrap) for row in lines]
    heights = np.resize(row_height_in, len(places))
    alone = len(names) == 1 and not rows
    width_in = width_in or (style.ONE_COLUMN_IN if alone else style.TWO_COLUMNS_IN)
    modes = {"column": "col", "plot": "none"}
    how = {"sharex": modes.get(x, x), "sharey": modes.get(y, y), "layout": "constrained"}
    how |= {"figsize": (width_in, margin_in + sum(heights)), "height_ratios": heights}
    figure, grid = plt.subplots(len(places), n_columns, squeeze=False, **how)
    plots: dict[Any, Axes] = {}
    for (row, block), line in zip(places, grid, strict=True):
        for axes in line[len(block) :]:
            axes.remove()
        if rows:
            at = {"xycoords": "axes fraction", "rotation": 270, "va": "center"}
            title = rows[row].replace(", ", ",\n")
            line[len(block) - 1].annotate(title, (1.03, 0.5), multialignment="center", **at)
        for column, axes in zip(block, line, strict=False):
            plots[(row, column) if rows else column] = axes
            last = x != "all" or names.index(column) + wrap >= len(names)
            lowest, title = last and row == lines[-1], columns[column]
            if max(map(len, title.split("\n"))) > _TITLES // n_columns:
                title = title.replace(", ", ",\n", 1)
            axes.set_title(title if row == lines[0] else "")
            axes.set_xlabel(xlabel if lowest else "")
            axes.tick_params("x", which="both", labelbottom=x in ("row", "plot") or lowest)
    figure.supylabel(ylabel, fontsize=style.FONT_PT)
    return figure, plots


def panels(
    rows: pd.DataFrame, study: StudyFacts, column: str, line: str = "", **layout: Any
) -> Panels:
    """`facets` by the values of one key column of the rows, or of two; each plot with its rows."""
    lines = study.value_names(rows, line) if line else None
    figure, plots = facets(study.value_names(rows, column), lines, **layout)
    panel_list = []
    for place, axes in plots.items():
        keys = dict(zip((line, column), place, strict=True)) if line else {column: place}
        panel_list.append((axes, where(rows, **keys)))
        if panel_list[-1][1].empty:
            write_centred(axes, NOT_RUN)
    return figure, panel_list


def titled_panels(groups: Sequence[tuple[str, pd.DataFrame]], **layout: Any) -> Panels:
    """`facets` of titles and the rows of each; each plot with its rows."""
    figure, plots = facets(dict(enumerate(title for title, _ in groups)), **layout)
    return figure, [(plots[i], rows) for i, (_, rows) in enumerate(groups)]


def single(**layout: Any) -> tuple[Canvas, Axes]:
    """A figure of one plot, laid out as `facets`."""
    figure, plots = facets({"": ""}, **layout)
    return figure, plots[""]


def write_centred(axes: Axes, text: str) -> None:
    """Words in the middle of a plot that has no data."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.INK)


def set_log_ticks(axis: Axis, most: int = 5) -> None:
    """A few plain numbers on a logarithmic axis, no ticks between them."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=most))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def label_rows(axes: Axes, labels: Collection[str]) -> None:
    """A name at the left for each row of a plot, from the top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.7)
    axes.tick_params(axis="y", length=0)


def series_shifts(names: Collection[str], apart: float) -> dict[str, float]:
    """A shift for each series, so that the intervals of one place do not hide each other."""
    return {name: apart * (i - (len(names) - 1) / 2) for i, name in enumerate(names)}


def draw_dots(axes: Axes, x: Any, y: Any, **more: Any) -> None:
    """Small grey dots, one a seed."""
    axes.scatter(x, y, **{"s": 7, "color": style.QUIET, "linewidths": 0, "zorder": 2} | more)


def draw_error_bars(
    axes: Axes,
    rows: pd.DataFrame | Mapping[str, Any],
    x: Any,
    y: Any,
    ends: Sequence[Any],
    mark: Mark,
    horizontal: bool = False,
    **more: Any,
) -> None:
    """Dots with their intervals, none where an end is missing.

    Places x and y, and the two ends of y (of x, and lying, if `horizontal`), are numbers or columns
    of the rows; `more` is of `Axes.errorbar`.
    """
    x, y, low, high = (
        np.atleast_1d(np.asarray(rows[options] if isinstance(options, str) else options, float))
        for options in (x, y, *ends)
    )
    value = x if horizontal else y
    away = np.clip([value - low, high - value], 0, None)
    away[:, ~np.isfinite(away).all(axis=0)] = np.nan
    options = {"color": mark.color, "marker": mark.marker, "linestyle": "none", "capsize": 2}
    options |= {"elinewidth": 1.2, "xerr" if horizontal else "yerr": away} | _DOT | more
    axes.errorbar(x, y, **options)


def draw_margin(axes: Axes, study: StudyFacts, vertical: bool = False) -> Patch:
    """The band of the equivalence margin with a line at zero; what the legend says of it."""
    band = axes.axvspan if vertical else axes.axhspan
    band(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
    style.draw_zero_line(axes, vertical)
    return swatch(f"margin ±{study.margin_pp:g} pp")


def matches_paper_condition(
    row: Mapping[str, Any], study: StudyFacts, paper: Mapping[str, Any], *more: str
) -> bool:
    """Whether a row of the main comparison has the condition, and keys `more`, of the paper's."""
    keys = ("architecture", "precision", "split", *more)
    fits = study.applicable_paper(row, study.main) is not None
    return fits and all(row[key] == paper[key] for key in keys)


def marks(rows: pd.DataFrame, kind: str, study: StudyFacts) -> dict[str, Mark]:
    """The mark of each value of a key column, in declared order."""
    return style.marks(kind, study.distinct(rows, kind), study)


def legend_handle(label: str, mark: Mark | None = None, **more: Any) -> Line2D:
    """A mark of the legend, without line."""
    options = {"color": mark.color, "marker": mark.marker} | _DOT if mark else {"color": style.INK}
    return Line2D([], [], label=label, **{"linestyle": "none"} | options | more)


def legend_handles(
    kind: str, marks: Mapping[str, Mark], study: StudyFacts, lines: bool = False, **more: Any
) -> list[Line2D]:
    """A mark of the legend for each part, with its line where lines are drawn."""
    return [
        legend_handle(
            study.called(kind, name), mark, **{"linestyle": mark.line if lines else "none"} | more
        )
        for name, mark in marks.items()
    ]


def seed_legend_handle() -> Line2D:
    """The mark of the legend for `draw_dots`."""
    return legend_handle("seed", marker="o", markersize=3, color=style.QUIET)


def swatch(label: str) -> Patch:
    """A band of the legend."""
    return Patch(color=style.BAND, label=label)


def legend(figure: Canvas, handles: Sequence[Any], ncols: int = 4, **more: Any) -> Canvas:
    """The figure with its legend, below its plots."""
    below = {"loc": "outside lower center", "columnspacing": 1.2}
    figure.legend(handles=handles, ncols=ncols, **below | more)
    return figure
