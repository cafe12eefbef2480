"""Functions of all figures: conditions, words in a plot, and spans of values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.estimates import FEW_POINTS
from orla.reports.numbers import is_missing, number
from orla.reports.study import StudyFacts
from orla.study.keys import KEYS

R = TypeVar("R")

# Columns of plots side by side; further ones stand below.
_ABREAST = 4

THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")


def one_condition(frame: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The rows of one condition (of all its splits), and its title.

    It is that of most learners and optimizers together, the first of several.
    """
    groups = list(study.groups(frame, without="split"))
    if not groups:
        return frame, "no data"
    title, _, rows = max(
        groups, key=lambda group: len(group.rows[["learner", "optimizer"]].drop_duplicates())
    )
    return rows, title


def widest(frame: pd.DataFrame, study: StudyFacts, over: str) -> tuple[pd.DataFrame, str]:
    """The rows of the condition in which a key column has most values, the first of several.

    Returns:
        Its rows in declared order, and its title: all keys but `over`, learner and optimizer last.
    """
    if frame.empty:
        return frame, "no data"
    rows = study.arrange(frame)
    by = [key for key in KEYS if key != over]
    first = rows.groupby(by, sort=False)[over].nunique().idxmax()
    keys = dict(zip(by, first, strict=True))
    last = [k for k in ("learner", "optimizer") if k != over]
    title = [study.title_of({over: ""} | keys, frame), *(study.called(k, keys[k]) for k in last)]
    return rows[(rows[by] == pd.Series(keys)).all(axis=1)], ", ".join(title)


def facets(
    rows: Mapping[R, str],
    columns: Mapping[str, str],
    *,
    row_in: float,
    around_in: float,
    along: Literal["row", "column"],
    scales: Mapping[R, Any] | None = None,
    drawn: Collection[tuple[R, str]] | None = None,
    xlabel: str = "",
) -> tuple[Figure, dict[tuple[R, str], Axes]]:
    """A plot for each row and column; four columns abreast, further ones below.

    Args:
        rows, columns: what stands for each, and its title.
        row_in: height of a row of plots (inches).
        around_in: height of all around them.
        along: whether the plots of a row, or of a column, share their x axis.
        scales: of each row; rows of equal scale share their y axis. All do where it is left out.
        drawn: the rows and columns that have data; a line of plots without any is left out. All
            stand there where it is left out.
        xlabel: under the last row.

    Returns:
        The figure, and its plots by (row, column), ("", "") where there are none.
    """
    rows, columns = rows or {"": ""}, columns or {"": ""}
    names, lines = list(columns), []
    for at in range(0, len(names), _ABREAST):
        block = names[at : at + _ABREAST]
        some = [row for row in rows if drawn is None or any((row, c) in drawn for c in block)]
        some = some or list(rows)
        lines += [(block, row, row == some[0], row == some[-1]) for row in some]
    figure, grid = plt.subplots(
        len(lines),
        min(len(names), _ABREAST),
        figsize=(style.TWO_COLUMNS_IN, around_in + row_in * len(lines)),
        squeeze=False,
        layout="constrained",
    )
    found: dict[tuple[R, str], Axes] = {}
    on_x: dict[Any, Axes] = {}
    on_y: dict[Any, Axes] = {}
    for (block, row, first, last), line in zip(lines, grid, strict=True):
        for axes in line[len(block) :]:
            axes.set_axis_off()
        row_title(line[len(block) - 1], rows[row])
        for column, axes in zip(block, line, strict=False):
            found[row, column] = axes
            beside = on_x.setdefault(row if along == "row" else column, axes)
            of_its_scale = on_y.setdefault(scales[row] if scales else None, axes)
            if axes is not beside:
                axes.sharex(beside)
            if axes is not of_its_scale:
                axes.sharey(of_its_scale)
            axes.set_title(columns[column] if first else "")
            axes.set_xlabel(xlabel if last else "")
            axes.tick_params(axis="x", labelbottom=along == "row" or last)
            axes.tick_params(axis="y", labelleft=axes is line[0])
    return figure, found


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


def span(values: pd.Series, digits: int = 1, signed: bool = False) -> str:
    """Smallest to largest value; "diverged" where none is finite."""
    values = values.dropna()
    if values.empty:
        return "diverged"
    low, high = (number(end, digits, signed) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def seed_counts(frame: pd.DataFrame) -> str:
    """Smallest to largest number of seeds of a table."""
    return count_range(frame["n_seeds"]) if len(frame) else "0"


def count_range(counts: pd.Series | Sequence[int]) -> str:
    """Smallest to largest of some whole numbers; "0" where there is none."""
    found = sorted({int(count) for count in counts})
    if not found:
        return "0"
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def points(axes: Axes, x: float, seeds: pd.DataFrame, column: str) -> None:
    """The seeds beside a dot at x, where there are few of them."""
    values = seeds[column].dropna()
    if len(values) <= FEW_POINTS:
        where = np.full(len(values), x + 0.25)
        axes.scatter(where, values, s=7, color=style.QUIET, linewidths=0, zorder=2)


def bar(
    axes: Axes,
    x: float,
    y: float,
    low: float | None,
    high: float | None,
    look: Mark,
    across: bool = False,
    **more: Any,
) -> None:
    """A dot with its interval (none where an end is missing); across draws it lying."""
    ends = None if is_missing(low) or is_missing(high) else [[max(y - low, 0)], [max(high - y, 0)]]
    where = (y, x) if across else (x, y)
    axes.errorbar(
        *where,
        **{"xerr" if across else "yerr": ends},
        **{
            "color": look.color,
            "marker": look.marker,
            "markeredgecolor": style.INK,
            "markeredgewidth": 0.4,
            "elinewidth": 1.2,
            "capsize": 2,
            "linestyle": "none",
        }
        | more,
    )
