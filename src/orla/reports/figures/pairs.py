"""Every pair of sessions, and what they say together."""

from __future__ import annotations

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.estimates import ESTIMANDS, OF_HELDOUT, OVER_PAIRS, has_meaning, with_points
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import bars, broken, facets, key, legend, most, swatch, where
from orla.reports.numbers import count, estimate, interval, is_missing
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.study.keys import SETTING

_WIDEST = 4
_TOGETHER = ["mean of pairs", "new pair"]


class Pairs(
    Figure,
    name="pairs",
    label="Every pair of sessions",
    chapter="by_pair",
    order=10,
    needs=("seed_gaps", "estimates", "over_pairs"),
):
    """Gaps by pair, seeds as dots; the mean over pairs and the interval for a new pair.

    Of several tasks, networks and splits the one with most pairs is drawn.
    """

    def select(
        self, seeds: pd.DataFrame, estimates: pd.DataFrame, over_pairs: pd.DataFrame, *,
        study: StudyFacts,
    ) -> Selection:  # fmt: skip
        rows = over_pairs[over_pairs["n_pairs"] == over_pairs["n_pairs"].max()]
        main = rows["estimand"] == OF_HELDOUT[0]
        by = (*SETTING, "estimand")
        rows = rows[main] if main.any() else rows
        keys = most(rows, study, over=["optimizer", "comparison"], keys=by).keys
        if not keys:
            return Selection(rows)
        rows = where(over_pairs, keys)
        names = [name for name in square(study) or () if (rows["comparison"] == name).any()]
        rows = rows[rows["comparison"].isin(names or study.present(rows, "comparison")[:_WIDEST])]
        same = [name for name in (*by, "comparison") if name in rows]
        each = estimates.merge(rows[same].drop_duplicates(), on=same)
        title = f"{study.title_of(keys, over_pairs)}: {ESTIMANDS[keys['estimand']]}"
        return Selection(rows, title, keys, {"each": each, "seeds": seeds})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        over, each = selection.rows, selection.more["each"]
        labels = [*sorted(each["pair"].unique()), *_TOGETHER]
        comparisons = study.names(over, "comparison").items()
        looks = study.marks("optimizer", study.present(over, "optimizer"))
        figure, plots = facets(
            {name: broken(label) for name, label in comparisons},
            study.names(over, "optimizer"),
            row_in=0.5 + 0.14 * (len(labels) + 1),
            around_in=1.3,
            x="row",
            xlabel="Gap (pp)",
            wrap=max(len(comparisons), 1),
        )
        for (optimizer, name), axes in plots.items():
            here = {"optimizer": optimizer, "comparison": name}
            axes.axvspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
            style.zero_line(axes, vertical=True)
            pairs = with_points(where(each, here), selection.more["seeds"])
            _panel(axes, pairs, labels, looks[optimizer])
            _together(axes, where(over, here).to_dict("records"), labels, looks[optimizer])
        band = swatch(f"margin ±{study.margin_pp:g} pp")
        handles = [
            key("seed", marker="o", markersize=3, color=style.QUIET),
            key("mean of a pair", marker="o"),
            key("a guard fails", marker="o", markerfacecolor="white"),
        ]
        legend(figure, [*handles, band], columnspacing=1)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        items = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, "
            f"{study.called('comparison', row['comparison'])}: "
            + estimate(row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"], signed=True)
            + f" pp, new pair {interval(row['prediction_low_pp'], row['prediction_high_pp'])}, "
            f"{count(row['n_pairs'])} pairs"
            for row in selection.rows.to_dict("records")
        )
        return (
            f"Held-out gaps in pp by pair of sessions, {selection.title}. Small dots: seeds; "
            "marks: mean of a pair (hollow where a guard fails). Below, the mean over pairs with "
            f"its {OVER_PAIRS}, and the 95 % prediction interval for a new pair. Grey band: the "
            f"margin of ±{study.margin_pp:g} pp.",
            f"Dot plots, optimizers by comparisons, a row a pair. {items}.",
        )


def _panel(axes: Axes, pairs: list[dict[str, Any]], labels: list[str], look: Mark) -> None:
    """The seeds and the mean of each pair."""
    clear = [row for row in pairs if has_meaning(row) and not is_missing(row["gap_pp"])]
    seeds = pd.concat([row["points"] for row in clear]) if clear else pd.DataFrame()
    if len(seeds):
        places = {"x": seeds["gap_pp"].to_numpy(), "y": seeds["pair"].to_numpy(), "order": labels}
        sns.stripplot(**places, ax=axes, jitter=False, size=2.4, color=style.QUIET, zorder=2)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.3, -0.7)
    axes.tick_params(axis="y", length=0)
    for row in pairs:
        y = labels.index(row["pair"])
        if row not in clear:
            axes.text(0.02, y, "no meaning", transform=axes.get_yaxis_transform(), va="center")
            continue
        face = "white" if row["guards"] else look.color
        mark = {"markerfacecolor": face, "markersize": 4, "zorder": 3}
        bars(axes, row["gap_pp"], y, None, None, look, across=True, **mark)


def _together(axes: Axes, over: list[dict[str, Any]], labels: list[str], look: Mark) -> None:
    """The mean over pairs with its interval, and the one for a new pair."""
    y = len(labels) - len(_TOGETHER)
    axes.axhline(y - 0.5, color=style.QUIET, linewidth=0.6)
    for row in over:
        ends = row["t95_low_pp"], row["t95_high_pp"]
        bars(axes, row["gap_pp"], y, *ends, look, across=True, elinewidth=2.4, markersize=5)
        ends = row["prediction_low_pp"], row["prediction_high_pp"]
        bars(axes, row["gap_pp"], y + 1, *ends, look, across=True, elinewidth=0.9, marker="|")
    if not over:
        axes.text(0.5, y, "not run", transform=axes.get_yaxis_transform(), va="center")
