"""Functions of all figures: the condition that is drawn, plots by facet, marks and their keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.estimates import FEW_POINTS
from orla.reports.figures.base import Selection
from orla.reports.numbers import number
from orla.reports.study import StudyFacts
from orla.study.keys import KEYS

R = TypeVar("R")
C = TypeVar("C")
Share = Literal["all", "row", "column", "plot"]

THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
_DOT = {"markeredgecolor": style.INK, "markeredgewidth": 0.4}


def where(frame: pd.DataFrame, keys: Mapping[str, Any]) -> pd.DataFrame:
    """The rows that have these values in these columns."""
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    return frame


def most(
    frame: pd.DataFrame,
    study: StudyFacts,
    over: Sequence[str],
    beside: Sequence[str] = (),
    keys: Collection[str] = KEYS,
) -> Selection:
    """The condition in which some columns have most values together, the first of several.

    Args:
        frame: results with the key columns.
        study: says what stands first, and the title.
        over: the columns whose values are counted.
        beside: key columns that neither count nor set conditions apart, as the split of a figure
            that draws all splits.
        keys: all columns that set conditions apart.

    Returns:
        Its rows in declared order, with its title and keys.
    """
    by = [key for key in keys if key in frame and key not in {*over, *beside}]
    conditions = study.arrange(frame[[*by, *over]].drop_duplicates())
    sizes = conditions.groupby(by, sort=False).size()
    if sizes.empty:
        return Selection(frame[:0])
    same = dict(zip(by, sizes.idxmax(), strict=True))
    last = [study.called(kind, same[kind]) for kind in ("learner", "optimizer") if kind in same]
    title = ", ".join([study.title_of(same, frame), *last])
    return Selection(study.arrange(where(frame, same)), title, same)


def facets(
    columns: Mapping[C, str],
    rows: Mapping[R, str] | None = None,
    *,
    row_in: float | Mapping[R, float],
    around_in: float,
    x: Share = "all",
    y: Share = "all",
    xlabel: str = "",
    ylabel: str = "",
    wrap: int = 4,
    width_in: float | None = None,
    cells: Collection[tuple[R, C]] | None = None,
) -> tuple[Canvas, dict[Any, Axes]]:
    """A plot for each column (and row); a few columns abreast, further ones below.

    Args:
        columns, rows: what stands for each, and its title.
        row_in: height of a row of plots (inches), or of each.
        around_in: height of all around them.
        x, y: which plots share this axis.
        xlabel: under the lowest plots.
        ylabel: at the left of all.
        wrap: columns abreast.
        width_in: of the figure; one column of text for one plot, else two, where it is left out.
        cells: the rows and columns that have data; a line of plots without any is left out. All
            stand there where it is left out.

    Returns:
        The figure, and its plots by column, or by (row, column) where there are rows.
    """
    names, lines = list(columns), []
    alone = len(names) == 1 and not rows
    width_in = width_in or (style.ONE_COLUMN_IN if alone else style.TWO_COLUMNS_IN)
    for at in range(0, len(names), wrap):
        block = names[at : at + wrap]
        some = [r for r in rows or [None] if cells is None or any((r, c) in cells for c in block)]
        lines += [(block, row, row == some[0], row == some[-1]) for row in some]
    heights = [row_in[row] if isinstance(row_in, Mapping) else row_in for _, row, _, _ in lines]
    figure, grid = plt.subplots(
        len(lines),
        min(len(names), wrap),
        figsize=(width_in, around_in + sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    plots: dict[Any, Axes] = {}
    first: dict[Any, Axes] = {}
    for (block, row, top, bottom), line in zip(lines, grid, strict=True):
        for axes in line[len(block) :]:
            axes.remove()
        if rows:
            row_title(line[len(block) - 1], rows[row])
        for column, axes in zip(block, line, strict=False):
            plots[(row, column) if rows else column] = axes
            groups = {"all": (), "row": (row,), "column": ("", column), "plot": ("", row, column)}
            for axis, share in (("x", x), ("y", y)):
                other = first.setdefault((axis, groups[share]), axes)
                if other is not axes:
                    getattr(axes, f"share{axis}")(other)
            lowest = bottom and (x != "all" or names.index(column) + wrap >= len(names))
            axes.set_title(columns[column] if top else "")
            axes.set_ylabel(ylabel if len(lines) == 1 and axes is line[0] else "")
            axes.set_xlabel(xlabel if lowest else "")
            axes.tick_params("x", which="both", labelbottom=x in ("row", "plot") or lowest)
            axes.tick_params(
                "y", which="both", labelleft=y in ("column", "plot") or axes is line[0]
            )
    if ylabel and len(lines) > 1:
        figure.supylabel(ylabel, fontsize=style.FONT_PT)
    return figure, plots


def say(axes: Axes, text: str) -> None:
    """Words in the middle of a plot that has no data."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.INK)


def row_title(axes: Axes, text: str) -> None:
    """The title of a row of plots, at its right edge."""
    axes.annotate(
        text.replace(", ", ",\n"),
        (1.03, 0.5),
        xycoords="axes fraction",
        rotation=270,
        va="center",
        ha="left",
        multialignment="center",
        annotation_clip=False,
    )


def broken(title: str) -> str:
    """A title in two lines, parted at its first comma."""
    return title.replace(", ", ",\n", 1)


def span(values: pd.Series, digits: int = 1, signed: bool = False) -> str:
    """Smallest to largest value; "diverged" where none is finite."""
    values = values.dropna()
    if values.empty:
        return "diverged"
    low, high = (number(end, digits, signed) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def count_range(counts: pd.Series | Sequence[int]) -> str:
    """Smallest to largest of some whole numbers."""
    low, high = int(min(counts)), int(max(counts))
    return str(low) if low == high else f"{low} to {high}"


def points(axes: Axes, x: float, seeds: pd.DataFrame, column: str) -> None:
    """The seeds beside a dot at x, where there are few of them."""
    values = seeds[column].dropna()
    if len(values) <= FEW_POINTS:
        dots(axes, np.full(len(values), x + 0.25), values)


def dots(axes: Axes, x: Any, y: Any, **more: Any) -> None:
    """Small grey dots, one a seed."""
    axes.scatter(x, y, **{"s": 7, "color": style.QUIET, "linewidths": 0, "zorder": 2} | more)


def bars(
    axes: Axes, x: Any, y: Any, low: Any, high: Any, look: Mark, across: bool = False, **more: Any
) -> None:
    """Dots with their intervals (none where an end is missing); across draws these lying.

    Args:
        axes: takes them.
        x, y: where they are; numbers or arrays.
        low, high: ends of the intervals, on the x axis if across, else on the y axis.
        look: colour and marker.
        across: whether intervals lie.
        **more: of `Axes.errorbar`.
    """
    value, low, high = (
        np.atleast_1d(np.asarray(v, float)) for v in (x if across else y, low, high)
    )
    ends = np.clip([value - low, high - value], 0, None)
    ends[:, ~np.isfinite(ends).all(axis=0)] = np.nan
    given = {"color": look.color, "marker": look.marker, "linestyle": "none", "capsize": 2}
    given |= {"elinewidth": 1.2, "xerr" if across else "yerr": ends} | _DOT | more
    axes.errorbar(x, y, **given)


def key(label: str, look: Mark | None = None, **more: Any) -> Line2D:
    """A mark of the legend, without line."""
    mark = {"color": look.color, "marker": look.marker} | _DOT if look else {"color": style.INK}
    return Line2D([], [], label=label, **{"linestyle": "none"} | mark | more)


def keys_of(
    kind: str, looks: Mapping[str, Mark], study: StudyFacts, lines: bool = False, **more: Any
) -> list[Line2D]:
    """A mark of the legend for each part, with its line where lines are drawn."""
    return [
        key(study.called(kind, name), look, **{"linestyle": look.line if lines else "none"} | more)
        for name, look in looks.items()
    ]


def swatch(label: str) -> Patch:
    """A band of the legend."""
    return Patch(color=style.BAND, label=label)


def legend(figure: Canvas, handles: Sequence[Any], ncols: int = 4, **more: Any) -> None:
    """The legend of a whole figure, below its plots."""
    below = {"loc": "outside lower center", "columnspacing": 1.2}
    figure.legend(handles=handles, ncols=ncols, **below | more)
