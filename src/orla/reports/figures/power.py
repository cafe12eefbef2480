"""Power of each registration against the true gap."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import facets, where
from orla.reports.numbers import count, number
from orla.reports.study import StudyFacts
from orla.reports.tables.trust import sample


class Power(
    Figure,
    name="power",
    label="Power of each registration",
    chapter="trust",
    order=20,
    needs=("power",),
):
    """Power against the true gap at the scatter seen, a panel a registration."""

    def select(self, power: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(power)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        firsts = selection.rows.drop_duplicates("registration").to_dict("records")
        titles = {row["registration"]: f"{row['registration']}\n{sample(row)}" for row in firsts}
        labels = {"xlabel": "True gap (pp)", "ylabel": "Power (%)"}
        figure, plots = facets(titles, row_in=1.55, around_in=0.6, x="plot", wrap=3, **labels)
        for name, axes in plots.items():
            rows = where(selection.rows, {"registration": name}).sort_values("true_gap_pp")
            axes.axhline(80, color=style.QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)
            line = {"color": style.INK, "marker": "o", "markersize": 3}
            axes.plot(rows["true_gap_pp"], 100 * rows["supported"], **line)
        axes.set_ylim(-4, 104)
        axes.set_yticks([0, 20, 40, 60, 80, 100])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        items = "; ".join(
            f"{name}, {sample(best)}: at most {number(100 * best['supported'], 0)} %, at "
            f"{number(best['true_gap_pp'], signed=True)} pp (n for 80 %: {count(best['n_80'])})"
            for name, rows in selection.rows.groupby("registration", sort=False)
            for best in [rows.loc[rows["supported"].idxmax()].to_dict()]
        )
        return (
            "Probability that a registration's claim is supported, against the true gap, at the "
            "registered number of pairs or seeds and the scatter (sd) that was seen. Dashes: 80 %.",
            f"Lines of power against true gap, a panel a registration. {items}.",
        )
