"""Power of each registration against the true gap."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import say
from orla.reports.numbers import count, number
from orla.reports.study import StudyFacts
from orla.reports.tables.trust import sample

_ACROSS = 3


class Power(
    Figure,
    name="power",
    label="Power of each registration",
    chapter="trust",
    order=20,
    needs=("power",),
):
    """Power against the true gap at the scatter seen, a panel a registration."""

    def draw(self, power: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        panels = list(power.groupby("registration", sort=False))
        down = max(-(-len(panels) // _ACROSS), 1)
        with style.house():
            figure, grid = plt.subplots(
                down,
                _ACROSS,
                figsize=(style.TWO_COLUMNS_IN, 0.6 + 1.55 * down),
                squeeze=False,
                sharey=True,
                layout="constrained",
            )
            for axes in grid.flat[max(len(panels), 1) :]:
                axes.remove()
            if not panels:
                say(grid[0, 0], "not run")
            for axes, (name, rows) in zip(grid.flat, panels, strict=False):
                _panel(axes, str(name), rows.sort_values("true_gap_pp"))
            for axes in grid[:, 0]:
                axes.set_ylabel("Power (%)")
            figure.supxlabel("True gap (pp)", fontsize=style.FONT_PT)
            style.heading(figure, study.simulated)
            style.save(figure, *paths)

    def describe(self, power: pd.DataFrame, *, study: StudyFacts) -> Caption:
        seen = "; ".join(
            f"{name}, {sample(best)}: at most {number(100 * best['supported'], 0)} %, at "
            f"{number(best['true_gap_pp'], signed=True)} pp (n for 80 %: {count(best['n_80'])})"
            for name, rows in power.groupby("registration", sort=False)
            for best in [rows.loc[rows["supported"].idxmax()].to_dict()]
        )
        return self.captioned(
            study,
            "Probability that a registration's claim is supported, against the true gap, at the "
            "registered number of pairs or seeds and the scatter (sd) that was seen. Dashes: 80 %.",
            f"Lines of power against true gap, a panel a registration. {seen or 'No data'}.",
        )


def _panel(axes: Axes, name: str, rows: pd.DataFrame) -> None:
    axes.axhline(80, color=style.QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)
    axes.plot(
        rows["true_gap_pp"], 100 * rows["supported"], color=style.INK, marker="o", markersize=3
    )
    axes.set_ylim(-4, 104)
    axes.set_yticks([0, 20, 40, 60, 80, 100])
    axes.set_title(f"{name}\n{sample(rows.iloc[0].to_dict())}", loc="left")
