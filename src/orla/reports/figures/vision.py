"""Recovery by test-time adaptation in vision."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import estimate
from orla.reports.study import StudyFacts
from orla.reports.tables.vision import ADAPTS, Tent, recoveries


class TentRecovery(
    Figure, name="tta", label="Recovery by test-time adaptation", chapter="vision", order=20
):
    """A plot a kind of parameters, a row an optimizer: corruptions as dots, and their mean."""

    caption = (
        "Recovery of what corruptions cost a network on average, by what adapts and optimizer; one "
        "that costs more can exceed 100 %. "
        "Dots: corruptions, means over seeds; marks: means with 95 % t intervals over corruptions. "
        "Dotted line: statistics of the batch alone. Open diamonds: the paper's, of CIFAR-10-C and "
        "another network."
    )
    by = ("panel", "optimizer")

    def select(self, tta: pd.DataFrame, *, study: StudyFacts) -> Selection | None:
        if tta.empty:
            return None
        rows = Tent().rows(tta, study=study)
        alone = rows[rows["adapts"] == "statistics"]["recovery"].mean()
        return Selection(rows[rows["adapts"].isin(ADAPTS)], more={"tta": tta, "alone": alone})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, dots = selection.rows, recoveries(selection.more["tta"])
        looks = plots.looks(rows, "optimizer", study)
        layout = {"row_in": 0.3 * len(looks), "around_in": 0.9, "xlabel": "Recovery (%)"}
        figure, panels = plots.titled([*rows.groupby("panel", sort=False)], **layout)
        for axes, each in panels:
            axes.axvline(selection.more["alone"], color=style.INK, linestyle=":", zorder=0)
            for row in each.to_dict("records"):
                y, look = [*looks].index(row["optimizer"]), looks[row["optimizer"]]
                ours = plots.where(dots, adapts=row["adapts"], optimizer=row["optimizer"])
                plots.dots(axes, ours["recovery"], [y + 0.22] * len(ours))
                ends = (row["recovery_low"], row["recovery_high"])
                plots.bars(axes, row, "recovery", y, ends, look, across=True, zorder=3)
                axes.plot(row["papers_recovery"], y, **plots.PAPERS)
            plots.row_labels(axes, [study.called("optimizer", name) for name in looks])
        return figure

    def seen(self, rows: pd.DataFrame) -> str:
        [row] = rows.to_dict("records")
        return f"{estimate(row['recovery'], row['recovery_low'], row['recovery_high'])} %"
