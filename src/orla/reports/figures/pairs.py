"""Every pair of sessions, and what they say together."""

from __future__ import annotations

from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.estimates import ESTIMANDS, OF_HELDOUT, OVER_PAIRS, has_meaning, with_points
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import bar, row_title, say
from orla.reports.numbers import count, estimate, interval, is_missing
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.study.keys import SETTING

_WIDEST = 4


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

    def draw(
        self,
        seeds: pd.DataFrame,
        estimates: pd.DataFrame,
        over_pairs: pd.DataFrame,
        *,
        paths: Paths,
        study: StudyFacts,
    ) -> None:
        over, title = _shown(over_pairs, study)
        own = _of(estimates, over)
        optimizers, pairs = study.present(over, "optimizer"), sorted(own["pair"].unique())
        comparisons = study.present(over, "comparison")
        shape = (max(len(optimizers), 1), max(len(comparisons), 1))
        with style.house():
            figure, grid = plt.subplots(
                *shape,
                figsize=(style.TWO_COLUMNS_IN, 1.3 + shape[0] * (0.5 + 0.14 * (len(pairs) + 3))),
                squeeze=False,
                sharey=True,
                sharex="row",
                layout="constrained",
            )
            if over.empty:
                say(grid[0, 0], "not run")
            for (i, optimizer), (j, name) in product(enumerate(optimizers), enumerate(comparisons)):
                here = {"optimizer": optimizer, "comparison": name}
                look = study.marks("optimizer", optimizers)[optimizer]
                rows = with_points(_where(own, here), seeds)
                _panel(grid[i, j], rows, _where(over, here), pairs, look, study)
                if i == 0:
                    grid[0, j].set_title(study.called("comparison", name).replace(", ", ",\n"))
            for row, optimizer in zip(grid, optimizers, strict=False):
                row_title(row[-1], study.called("optimizer", optimizer))
            if len(over):
                labels = [*pairs, "mean of pairs", "new pair"]
                grid[0, 0].set_yticks([-y for y in range(len(labels))], labels)
                for axes in grid[-1]:
                    axes.set_xlabel("Gap (pp)")
                legend = _legend(study)
                figure.legend(handles=legend, loc="outside lower center", ncols=4, columnspacing=1)
            style.heading(figure, study.of(over).simulated, title)
            style.save(figure, *paths)

    def describe(
        self,
        seeds: pd.DataFrame,
        estimates: pd.DataFrame,
        over_pairs: pd.DataFrame,
        *,
        study: StudyFacts,
    ) -> Caption:
        over, title = _shown(over_pairs, study)
        seen = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, "
            f"{study.called('comparison', row['comparison'])}: "
            + estimate(row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"], signed=True)
            + f" pp, new pair {interval(row['prediction_low_pp'], row['prediction_high_pp'])}, "
            f"{count(row['n_pairs'])} pairs"
            for row in over.to_dict("records")
        )
        return self.captioned(
            study.of(over),
            f"Held-out gaps in pp by pair of sessions, {title}. Small dots: seeds; marks: mean of "
            "a pair (hollow where a guard fails). Below, the mean over pairs with its "
            f"{OVER_PAIRS}, and the 95 % prediction interval for a new pair. Grey band: the margin "
            f"of ±{study.margin_pp:g} pp.",
            f"Dot plots, optimizers by comparisons, a row a pair. {seen or 'No data'}.",
        )


def _shown(over_pairs: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The rows of the condition with most pairs, of four comparisons, and what they are of."""
    if over_pairs.empty:
        return over_pairs, "no data"
    by = ["task", "architecture", "precision", "split", "intervention", "start", "estimand"]
    rows = over_pairs.assign(main=over_pairs["estimand"] == OF_HELDOUT[0])
    sizes = rows.groupby(by, sort=False).agg({"n_pairs": "max", "main": "max", "gap_pp": "size"})
    first = sizes.sort_values(list(sizes), ascending=False, kind="stable").index[0]
    keys = dict(zip(by, first, strict=True))
    rows = over_pairs[(over_pairs[by] == pd.Series(keys)).all(axis=1)]
    found = [name for name in square(study) or () if (rows["comparison"] == name).any()]
    names = found or study.present(rows, "comparison")[:_WIDEST]
    title = study.title_of(keys, over_pairs.assign(pair=""))
    return rows[rows["comparison"].isin(names)], f"{title}: {ESTIMANDS[keys['estimand']]}"


def _of(estimates: pd.DataFrame, over: pd.DataFrame) -> pd.DataFrame:
    """The estimates of the pairs that these rows are over."""
    by = [key for key in (*SETTING, "comparison", "estimand") if key in over]
    return estimates.merge(over[by].drop_duplicates(), how="inner", on=by)


def _where(frame: pd.DataFrame, keys: dict[str, str]) -> pd.DataFrame:
    return frame[(frame[list(keys)] == pd.Series(keys)).all(axis=1)]


def _panel(
    axes: Axes,
    rows: list[dict[str, Any]],
    over: pd.DataFrame,
    pairs: list[str],
    look: Mark,
    study: StudyFacts,
) -> None:
    axes.axvspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
    style.zero_line(axes, vertical=True)
    axes.set_ylim(-len(pairs) - 1.7, 0.7)
    axes.tick_params(axis="y", length=0)
    for row in rows:
        y, values = -pairs.index(row["pair"]), row["points"]["gap_pp"].dropna()
        if not has_meaning(row) or is_missing(row["gap_pp"]):
            place = axes.get_yaxis_transform()
            axes.text(0.02, y, "no meaning", transform=place, va="center")
            continue
        dots = {"s": 6, "color": style.QUIET, "linewidths": 0, "zorder": 2}
        axes.scatter(values, np.full(len(values), y), **dots)
        face = "white" if row["guards"] else look.color
        mark = {"markerfacecolor": face, "markersize": 4, "zorder": 3}
        bar(axes, y, row["gap_pp"], None, None, look, across=True, **mark)
    axes.axhline(-len(pairs) + 0.5, color=style.QUIET, linewidth=0.6)
    if over.empty:
        say(axes, "not run")
        return
    row, y = over.iloc[0], -len(pairs)
    ends = row["t95_low_pp"], row["t95_high_pp"]
    bar(axes, y, row["gap_pp"], *ends, look, across=True, elinewidth=2.4, markersize=5)
    ends = row["prediction_low_pp"], row["prediction_high_pp"]
    bar(axes, y - 1, row["gap_pp"], *ends, look, across=True, elinewidth=0.9, marker="|")


def _legend(study: StudyFacts) -> list:
    def line(label: str, **more: Any) -> Line2D:
        return Line2D([], [], **{"color": style.INK, "linestyle": "none", "label": label, **more})

    return [
        line("seed", marker="o", markersize=3, color=style.QUIET),
        line("mean of a pair", marker="o"),
        line("a guard fails", marker="o", markerfacecolor="white"),
        plt.Rectangle((0, 0), 1, 1, color=style.BAND, label=f"margin ±{study.margin_pp:g} pp"),
    ]
