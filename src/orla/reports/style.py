"""The house style of figures: sizes, marks that differ in grey too, and how files are saved."""

from collections.abc import Iterable, Iterator
from colorsys import rgb_to_hls
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from orla.catalogue import Mark
from orla.files import atomic
from orla.reports.words import PartNames

ONE_COLUMN_IN = 3.5
TWO_COLUMNS_IN = 7.1
FONT_PT = 8
INK = "#222222"
QUIET = "#767676"
BAND = "#e0e0e0"
RING = "#e6a000"
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "h")
_LINES = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (7, 2)))
# 11 and 5 have no common divisor, so that all pairs occur.
_PAIRS = [(_MARKERS[i % 11], _LINES[i % 5]) for i in range(55)]
_METADATA = {
    ".pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    ".svg": dict.fromkeys(("Date", "Creator")),
    ".png": {"Software": None},
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw the figures of the block in the house style."""
    with sns.axes_style("ticks"), plt.style.context(Path(__file__).with_suffix(".mplstyle")):
        yield


def marks(kind: str, slugs: Iterable[str], names: PartNames) -> dict[str, Mark]:
    """The mark of each series of a figure, no two alike (up to 55), in the order of their parts.

    A part with default options has its declared mark; further instances have a lighter colour and
    a marker that is free, or a free pair of marker and line.
    """
    order = names.sort_names(kind, slugs)
    bases = {slug: names.mark(kind, slug) for slug in order}
    marks = {s: mark for s, mark in bases.items() if mark and not names.changed_options(kind, s)}
    for slug in order:
        if slug in marks:
            continue
        base = bases[slug].color if bases[slug] else INK
        _, light, _ = rgb_to_hls(*to_rgb(base))
        light += 0.62 * (1 - 0.55 ** len(marks)) * (1 - light)
        markers = {mark.marker for mark in marks.values()}
        used_pairs = {(mark.marker, mark.line) for mark in marks.values()}
        free = [pair for pair in _PAIRS if pair not in used_pairs] or _PAIRS
        free_pair = next((pair for pair in free if pair[0] not in markers), free[0])
        marks[slug] = Mark(to_hex(sns.set_hls_values(base, l=light)), *free_pair)
    return {slug: marks[slug] for slug in order}


def save(figure: Figure, *paths: Path | str) -> None:
    """Save a figure under each path, whole or not at all; equal data give equal bytes."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
    for target in map(Path, paths):
        with atomic(target) as path:
            figure.savefig(path, metadata=_METADATA[target.suffix])
    plt.close(figure)


def draw_zero_line(axes: Axes, vertical: bool = False) -> None:
    """A thin line at zero, behind the data."""
    line = axes.axvline if vertical else axes.axhline
    line(0, color=QUIET, linewidth=0.8, zorder=0)
