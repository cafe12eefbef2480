"""Right, wrong and no verdicts in worlds whose answer is known."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import facets, legend
from orla.reports.numbers import interval, number
from orla.reports.study import StudyFacts

# Colour and hatch of each answer: they differ in grey too.
_LOOKS = {
    "right": ("#0072b2", ""),
    "wrong": ("#d55e00", "xxxx"),
    "undecided": ("#d9d9d9", ""),
    "untestable": ("#ffffff", "////"),
}


class TruthControls(
    Figure,
    name="truth_controls",
    label="Verdicts in worlds with a known answer",
    chapter="trust",
    order=10,
    needs=("truth_controls",),
):
    """Shares of right, wrong, undecided and untestable verdicts, a bar a world and claim."""

    def select(self, controls: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(controls.reset_index(drop=True))

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, shares = selection.rows.to_dict("records"), _shares(selection.rows)
        figure, plots = facets(
            {"": ""}, row_in=0.34 * len(rows), around_in=1.3, width_in=style.TWO_COLUMNS_IN
        )
        axes = plots[""]
        colors = [color for color, _ in _LOOKS.values()]
        edge = {"edgecolor": style.INK, "linewidth": 0.5}
        shares.plot.barh(stacked=True, ax=axes, width=0.62, color=colors, legend=False, **edge)
        for stack, (_, hatch) in zip(axes.containers, _LOOKS.values(), strict=True):
            for patch in stack:
                patch.set_hatch(hatch)
        for y, row in enumerate(rows):
            axes.annotate(_wrong(row), (1.01, y), xycoords=("axes fraction", "data"), va="center")
        axes.set_yticks(range(len(rows)), map(_label, rows))
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel="Share of made-up studies (%)", ylabel="")
        legend(figure, axes.containers)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows.to_dict("records")
        items = "; ".join(f"{_label(row)}: {_wrong(row)}" for row in rows)
        return (
            "Verdicts on made-up studies whose true gap is known, through the same rules to the "
            "same judge. At the right, the share of wrong verdicts with its 95 % interval over "
            "made-up studies. Untestable is the right answer where nothing drifts.",
            f"Stacked bars, one a world and claim. {items}.",
        )


def _shares(controls: pd.DataFrame) -> pd.DataFrame:
    """Percent of the studies that were decided rightly and wrongly, not decided, not testable."""
    decided = controls["supported"] + controls["falsified"]
    counts = {
        "right": controls["right"].clip(upper=decided),
        "wrong": controls["wrong"].clip(upper=decided),
        "undecided": controls["inconclusive"],
        "untestable": controls["untestable"],
    }
    return 100 * pd.DataFrame(counts).div(controls["studies"], axis=0)


def _label(row: dict) -> str:
    gap = number(row["true_gap_pp"], signed=True)
    return f"{row['world']}, true gap {gap} pp: {row['claim']}"


def _wrong(row: dict) -> str:
    ends = interval(100 * row["wrong_low"], 100 * row["wrong_high"])
    return f"{number(100 * row['wrong_share'])} % wrong {ends}, n = {int(row['studies'])}"
