"""What the figures share: captions, conditions and words in a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from orla.reports import style, words
from orla.reports.numbers import number

Paths = Sequence[Path | str]
THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")


@dataclass(frozen=True)
class Caption:
    """What a figure shows (caption) and what one sees in it (alternative text)."""

    title: str
    caption: str
    alt: str


def conditions(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each architecture, precision and split, with its title."""
    if frame.empty:
        return []
    keys = ["architecture", "precision", "split"]
    groups = words.arrange(frame).groupby(keys, sort=False)
    return [(words.condition(rows.iloc[0]), rows) for _, rows in groups]


def one_condition(
    frame: pd.DataFrame, architecture: str | None, precision: str | None
) -> tuple[pd.DataFrame, str]:
    """The rows of one architecture and precision (the first present), and their title."""
    if frame.empty:
        return frame, "no data"
    architecture = architecture or words.present(frame, "architecture")[0]
    rows = frame[frame["architecture"] == architecture]
    precision = precision or (words.present(rows, "precision") or ["float64"])[0]
    title = f"{words.name('architecture', architecture)}, {words.name('precision', precision)}"
    return rows[rows["precision"] == precision], title


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
