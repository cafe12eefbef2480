"""The house style of every figure: one place for sizes, marks and how files are saved.

Each series differs by colour, marker and line, so that a figure reads in greyscale and for
colour-blind readers.
"""

from collections.abc import Iterable, Iterator
from colorsys import hls_to_rgb, rgb_to_hls
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
_STYLE = Path(__file__).with_suffix(".mplstyle")
_METADATA = {
    ".pdf": dict.fromkeys(("CreationDate", "Creator", "Producer")),
    ".svg": dict.fromkeys(("Date", "Creator")),
    ".png": {"Software": None},
}


@contextmanager
def house() -> Iterator[None]:
    """Draw the figures of the block in the house style."""
    with sns.axes_style("ticks"), plt.style.context(_STYLE):
        yield


def marks(kind: str, slugs: Iterable[str], names: PartNames) -> dict[str, Mark]:
    """The look of each series of a figure, no two alike (up to 55), in the order of their parts.

    A part with default options has its declared mark; further instances have a lighter colour and
    another marker and line.
    """
    order = names.ordered(kind, slugs)
    given = {slug: names.mark(kind, slug) for slug in order}
    plain = [s for s in order if given[s] and not names.own_options(kind, s)]
    looks = {slug: given[slug] for slug in plain}
    for slug in order:
        if slug not in looks:
            base = given[slug].color if given[slug] else INK
            looks[slug] = _another(base, list(looks.values()))
    return {slug: looks[slug] for slug in order}


def _another(color: str, others: list[Mark]) -> Mark:
    """A mark that no other has: a free marker while there is one, then a free pair with a line."""
    hue, light, saturation = rgb_to_hls(*to_rgb(color))
    lighter = 0.62 * (1 - 0.55 ** len(others))
    shade = to_hex(hls_to_rgb(hue, light + lighter * (1 - light), saturation))
    used = {(mark.marker, mark.line) for mark in others}
    markers = {mark.marker for mark in others}
    free = [pair for pair in _PAIRS if pair not in used] or _PAIRS
    marker, line = next((pair for pair in free if pair[0] not in markers), free[0])
    return Mark(shade, marker, line)


def save(figure: Figure, *paths: Path | str) -> None:
    """Save a figure under each path, whole or not at all; equal data give equal bytes."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine(None)
    for target in map(Path, paths):
        with atomic(target) as path:
            figure.savefig(path, metadata=_METADATA[target.suffix])
    plt.close(figure)


def heading(figure: Figure, simulated: bool, text: str = "") -> None:
    """A line at the top left; SIMULATED first, since a figure travels without its caption."""
    if text and figure.get_figwidth() <= ONE_COLUMN_IN:
        text = text.replace(", ", ",\n", 1)
    parts = ["SIMULATED sessions"] * simulated + [text] * bool(text)
    if parts:
        figure.suptitle(" · ".join(parts), x=0.01, ha="left", fontsize=FONT_PT, color=INK)


def zero_line(axes: Axes, vertical: bool = False) -> None:
    """A thin line at zero, behind the data."""
    line = axes.axvline if vertical else axes.axhline
    line(0, color=QUIET, linewidth=0.8, zorder=0)
