"""Singular values of the past and of the immediate gradients."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.profiles import Chosen, chosen, grid, in_one_line, panels, series
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_LOOKS = {
    "singular_past": ("G_past", "#7a2a00", "-"),
    "singular_immediate": ("G_imm", "#3f8fbf", (0, (3, 1.2))),
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

    def draw(self, profile: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        found = _found(profile, study)
        shown = list(panels(found, study))
        with grid(len(shown), study.of(found.rows), found.title, paths, row_in=1.6) as (
            figure,
            axes,
        ):
            for here, (title, _, rows) in zip(axes, shown, strict=True):
                here.set_title(title)
                here.set_xscale("log")
                here.set_yscale("log")
                here.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                for quantity, one in series(rows):
                    _, color, line = _LOOKS[quantity]
                    clear = one[one["value"] > _LEAST]
                    here.plot(
                        clear["index"] + 1, clear["value"], color=color, linestyle=line,
                        linewidth=0.8,
                    )  # fmt: skip
            if axes:
                figure.supxlabel("Singular value, largest first", fontsize=style.FONT_PT)
                figure.supylabel("Share of their sum", fontsize=style.FONT_PT)
                handles = [
                    Line2D([], [], color=color, linestyle=line, label=label)
                    for label, color, line in _LOOKS.values()
                ]
                figure.legend(handles=handles, loc="outside lower right", ncols=2)

    def ran(self, profile: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _found(profile, study).rows.empty

    def describe(self, profile: pd.DataFrame, *, study: StudyFacts) -> Caption:
        found = _found(profile, study)
        seen = "; ".join(
            f"{in_one_line(title)}: {_first(rows, 'singular_past')} and "
            f"{_first(rows, 'singular_immediate')}"
            for title, _, rows in panels(found, study)
        )
        return self.captioned(
            study.of(found.rows),
            "Singular values of the matrices of past gradients (G_past) and of immediate ones "
            f"(G_imm), a column a window, each over the sum of all, {found.title}. Thin lines: "
            f"seeds (n = {found.seeds}).",
            "Lines on logarithmic axes, a panel an optimizer and split. First values of G_past and "
            f"G_imm, means over seeds. {seen or 'No data'}.",
        )


def _found(profile: pd.DataFrame, study: StudyFacts) -> Chosen:
    return chosen(profile, tuple(_LOOKS), study)


def _first(rows: pd.DataFrame, quantity: str) -> str:
    first = rows[(rows["quantity"] == quantity) & (rows["index"] == 0)]
    return number(first["value"].mean() if len(first) else None, 2)
