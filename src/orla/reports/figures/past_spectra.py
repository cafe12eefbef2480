"""Singular values of the past and of the immediate gradients."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import PLAIN, key, legend, where
from orla.reports.figures.profiles import most_panels, networks, of_quantity, plots, seen
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_LOOKS = {
    "singular_past": ("G_past", {"color": "#7a2a00", "linestyle": "-"}),
    "singular_immediate": ("G_imm", {"color": "#3f8fbf", "linestyle": (0, (3, 1.2))}),
}
# Rounding: a smaller share is no singular value.
_LEAST = 1e-6


class PastSpectra(
    Figure,
    name="past_spectra",
    label="Singular values of past and immediate gradients",
    chapter="mechanism",
    order=20,
    needs=("profile",),
):
    """Every singular value over the sum of all, a panel an optimizer and split, a line a seed."""

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return most_panels(profile, tuple(_LOOKS), study)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        labels = {"xlabel": "Singular value,\nlargest first", "ylabel": "Share of their sum"}
        figure, panels = plots(selection.rows, study, row_in=1.7, **labels)
        for axes, _, rows in panels:
            for quantity, (_, look) in _LOOKS.items():
                values = of_quantity(rows, quantity)
                axes.plot(values.index, values.where(values > _LEAST), linewidth=0.8, **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(PLAIN)
        legend(figure, [key(label, **look) for label, look in _LOOKS.values()])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        firsts = seen(
            selection.rows, study, lambda panel: " and ".join(_first(panel, q) for q in _LOOKS)
        )
        return (
            "Singular values of the matrices of past gradients (G_past) and of immediate ones "
            f"(G_imm), a column a window, each over the sum of all, {selection.title}. Thin lines: "
            f"seeds (n = {networks(selection.rows)}).",
            "Lines on logarithmic axes, a panel an optimizer and split. First values of G_past and "
            f"G_imm, means over seeds. {firsts}.",
        )


def _first(rows: pd.DataFrame, quantity: str) -> str:
    return number(where(rows, {"quantity": quantity, "index": 0})["value"].mean(), 2)
