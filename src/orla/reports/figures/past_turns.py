"""How far the past gradient turns from one window to the next."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.profiles import most_panels, networks, of_quantity, plots, seen
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_QUANTITY = "turn_cosine"


class PastTurns(
    Figure,
    name="past_turns",
    label="Turns of the past gradient from window to window",
    chapter="mechanism",
    order=30,
    needs=("profile",),
):
    """Cosine of the past gradients of consecutive windows, a panel an optimizer and split."""

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return most_panels(profile, (_QUANTITY,), study)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        looks = study.marks("optimizer", study.present(selection.rows, "optimizer"))
        labels = {"xlabel": "Window", "ylabel": "Cosine with\nthe next window's"}
        figure, panels = plots(selection.rows, study, row_in=1.45, **labels)
        for axes, optimizer, rows in panels:
            values = of_quantity(rows, _QUANTITY)
            style.zero_line(axes)
            axes.plot(values, color=style.QUIET, linewidth=0.4)
            axes.plot(values.mean(axis=1), color=looks[optimizer].color, linewidth=1.5)
        axes.set_ylim(-1.05, 1.05)
        axes.set_yticks([-1, 0, 1])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        means = seen(selection.rows, study, lambda panel: number(panel["value"].mean(), 2))
        return (
            "Cosine of the past gradient of a window and that of the next: 1 where its direction "
            f"stays, 0 where it turns by a right angle, {selection.title}. Thin grey lines: seeds "
            f"(n = {networks(selection.rows)}); thick: their mean.",
            "Lines by window, a panel an optimizer and split. Means over windows and seeds. "
            f"{means}.",
        )
