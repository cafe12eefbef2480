"""The house style of every figure: one place for sizes, palettes, markers and how files are saved.

Each series differs by colour, marker and line, and the colours of a palette rise in lightness, so
that a figure reads in greyscale and for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orla.files import atomic

ONE_COLUMN_IN = 3.5
TWO_COLUMNS_IN = 7.1
FONT_PT = 8
INK = "#222222"
QUIET = "#767676"
BAND = "#e0e0e0"


@dataclass(frozen=True)
class Mark:
    """How a series looks: colour, marker and line pattern."""

    color: str
    marker: str
    line: Any  # a name or an on-off pattern, as matplotlib takes it


OPTIMIZERS = {
    "sgd": Mark("#14213d", "o", "-"),
    "adafactor": Mark("#9c2a5b", "s", (0, (5, 1.5))),
    "adam": Mark("#2a8fbd", "^", (0, (3, 1, 1, 1))),
    "lars": Mark("#e6a000", "D", (0, (1, 1))),
}
# Blue is the immediate gradient, red to amber the full one; a solid line updates each step.
LEARNERS = {
    "immediate": Mark("#0b2a5b", "o", "-"),
    "rtrl": Mark("#9c2f1c", "s", "-"),
    "last-layer": Mark("#5f7f6f", "v", (0, (1, 1))),
    "immediate-200": Mark("#5aa5dc", "^", (0, (4, 1.2))),
    "tbptt-200-200": Mark("#f0ab3c", "D", (0, (4, 1.2))),
}
SPLITS = {"80-20": Mark(INK, "o", "-"), "50-50": Mark(QUIET, "^", (0, (4, 1.2)))}
_UNKNOWN = Mark(QUIET, "X", (0, (2, 2)))

_PARAMETERS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same on every machine
    "font.size": FONT_PT,
    "axes.titlesize": FONT_PT,
    "axes.labelsize": FONT_PT,
    "xtick.labelsize": FONT_PT,
    "ytick.labelsize": FONT_PT,
    "legend.fontsize": FONT_PT,
    "figure.titlesize": FONT_PT,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "grid.color": "#e6e6e6",
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "figure.dpi": 100,
    "savefig.dpi": 220,
    "pdf.fonttype": 42,  # fonts embedded whole, text stays text
    "ps.fonttype": 42,
    "svg.hashsalt": "orla",
}


@contextmanager
def house() -> Iterator[None]:
    """Draw the figures of the block in the house style."""
    with sns.axes_style("ticks"), matplotlib.rc_context(_PARAMETERS):
        yield


def mark(kind: dict[str, Mark], slug: str) -> Mark:
    """The look of a series; a slug the house does not know gets a grey cross."""
    return kind.get(slug, _UNKNOWN)


def save(figure: Figure, *paths: Path | str) -> None:
    """Save a figure under each path (.pdf, .png or .svg), whole or not at all.

    Nothing that changes from run to run is stored: equal data give equal bytes.

    Raises:
        OrlaError: the disk is full.
    """
    for target in map(Path, paths):
        with atomic(target) as path:
            figure.savefig(path, metadata=_metadata(target.suffix))
    plt.close(figure)


def heading(figure: Figure, dataset: dict, text: str = "") -> None:
    """A line at the top left; SIMULATED first, since a figure travels without its caption."""
    parts = [text] if text else []
    if dataset.get("simulated"):
        parts.insert(0, "SIMULATED sessions")
    if parts:
        figure.suptitle(" · ".join(parts), x=0.01, ha="left", fontsize=FONT_PT, color=INK)


def zero_line(axes: Axes, vertical: bool = False) -> None:
    """A thin line at zero, behind the data."""
    line = axes.axvline if vertical else axes.axhline
    line(0, color=QUIET, linewidth=0.8, zorder=0)


def _metadata(suffix: str) -> dict[str, None]:
    if suffix == ".pdf":
        return {"CreationDate": None, "Creator": None, "Producer": None}
    if suffix == ".svg":
        return {"Date": None, "Creator": None}
    return {"Software": None}
