"""Gradient and cadence, two by two: the study's main figure."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.estimates import (
    ESTIMANDS,
    FEW_POINTS,
    OF_HELDOUT,
    OVER_SEEDS,
    has_meaning,
    recovery_end,
    with_points,
)  # fmt: skip
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import bars, facets, keys_of, legend, most, points, where
from orla.reports.numbers import is_missing, number
from orla.reports.square import Square, recoveries, square
from orla.reports.study import StudyFacts

_GRADIENTS = {0.5: "immediate\ngradient", 2.5: "full\ngradient"}
_DIFFERENCES = {
    0: "gradient,\nper step",
    1: "gradient,\nper window",
    2: "cadence,\nimmediate",
    3: "cadence,\nfull",
}
# The two rows of plots of a network, by their y axis.
_KINDS = ("Recovery (%)", "Difference (pp)")


class TwoByTwo(
    Figure,
    name="two_by_two",
    label="Gradient and cadence, two by two",
    chapter="cadence",
    order=10,
    needs=("estimates", "seed_gaps"),
):
    """Recoveries of the four cells and the four differences, networks by optimizers.

    Further optimizers than four stand below, on the same scales.

    Of several splits, pairs and precisions the first is drawn; of the networks those for which a
    difference has a meaning, or all where none has.
    """

    def select(
        self, estimates: pd.DataFrame, seeds: pd.DataFrame, *, study: StudyFacts
    ) -> Selection | None:
        cells = square(study)
        rows = estimates[estimates["comparison"].isin(cells or ())]
        estimand = next((e for e in OF_HELDOUT if (rows["estimand"] == e).any()), "")
        rows = rows[rows["estimand"] == estimand]
        selection = most(rows, study, over=["architecture", "optimizer", "comparison"])
        rows, keys = selection.rows, selection.keys
        if not keys:
            return None
        title = f"{study.called('split', keys['split'])}, {ESTIMANDS[estimand]}"
        if estimates["pair"].nunique() > 1:
            title = f"{keys['pair']}, {title}"
        networks = study.present(rows, "architecture")
        clear = rows[rows.apply(has_meaning, axis=1) & rows["gap_pp"].notna()]
        clear = study.present(clear, "architecture") or networks
        left_out = [study.called("architecture", name) for name in networks if name not in clear]
        more = {"cells": cells, "seeds": seeds, "left_out": left_out}
        return Selection(rows[rows["architecture"].isin(clear)], title, keys, more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, cells = selection.rows, selection.more["cells"]
        looks = study.marks("learner", cells.learners(study))
        networks = study.names(rows, "architecture")
        figure, plots = facets(
            study.names(rows, "optimizer"),
            {(name, kind): label for name, label in networks.items() for kind in _KINDS},
            row_in=1.55,
            around_in=1.1,
            x="row",
            y="row",
        )
        for ((network, kind), optimizer), axes in plots.items():
            here = where(rows, {"architecture": network, "optimizer": optimizer})
            gaps = {row["comparison"]: row for row in with_points(here, selection.more["seeds"])}
            axes.set_xlim(-0.6, 3.6)
            axes.tick_params(axis="x", length=0)
            if kind == _KINDS[0]:
                _recoveries(axes, gaps, cells, looks, study)
            else:
                axes.axhspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
                _differences(axes, gaps, cells)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(kind)
        legend(figure, keys_of("learner", looks, study), handlelength=1)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        others = ""
        if names := selection.more["left_out"]:
            others = f" Recovery has no meaning on {' and '.join(names)}: see the table."
        items = "; ".join(
            f"{study.called('architecture', row['architecture'])}, "
            f"{study.called('optimizer', row['optimizer'])}, "
            f"{study.called('comparison', row['comparison'])}: "
            f"{number(row['gap_pp'], signed=True)} pp"
            for row in selection.rows.to_dict("records")
        )
        return (
            f"Recovery (%) of two gradients at two cadences, {selection.title}: immediate (the "
            "past held fixed) and full, updated at each step and once a window. Below, what the "
            "gradient adds at one cadence (full − immediate), and what the cadence adds for one "
            f"gradient (per window − per step). Bars: {OVER_SEEDS}; grey band: the margin of "
            f"±{study.margin_pp:g} pp; dots: seeds, where there are at most {FEW_POINTS}.{others}",
            f"Dots with intervals, networks by optimizers. {items}.",
        )


def _recoveries(
    axes: Axes, gaps: dict[str, Any], cells: Square, looks: dict[str, Mark], study: StudyFacts
) -> None:
    axes.set_xticks(list(_GRADIENTS), _GRADIENTS.values())
    for x, (place, learner) in enumerate(
        zip(recoveries(gaps, cells), cells.learners(study), strict=True)
    ):
        if place is None or not has_meaning(place[0]):
            _absent(axes, x, "not run" if place is None else "no meaning")
            continue
        row, side = place
        ends = [recovery_end(row, side, end) for end in ("low", "high")]
        points(axes, x, row["points"], f"{side}_percent")
        bars(axes, x, row[f"{side}_percent"], *ends, looks[learner])


def _differences(axes: Axes, gaps: dict[str, Any], cells: Square) -> None:
    axes.set_xticks(list(_DIFFERENCES), _DIFFERENCES.values(), rotation=90)
    style.zero_line(axes)
    for x, name in enumerate(cells):
        row = gaps.get(name)
        if row is None or not has_meaning(row) or is_missing(row["gap_pp"]):
            _absent(axes, x, "not run" if row is None else "no meaning")
            continue
        look = Mark(style.INK, "o" if x < 2 else "s")
        points(axes, x, row["points"], "gap_pp")
        bars(axes, x, row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"], look)


def _absent(axes: Axes, x: float, text: str) -> None:
    place = axes.get_xaxis_transform()
    axes.text(x, 0.5, text, transform=place, rotation=90, ha="center", va="center")
