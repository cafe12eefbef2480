"""Functions of all figures: conditions, words in a plot, and spans of values."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from orla.reports import style
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")


def one_condition(frame: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The rows of the first condition (of all its splits), and its title."""
    for title, _, rows in study.groups(frame, without="split"):
        return rows, title
    return frame, "no data"


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
