"""Gradient and cadence, two by two: the study's main figure."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

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
)
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import bar, facets, points, say
from orla.reports.numbers import is_missing, number
from orla.reports.square import Square, recoveries, square
from orla.reports.study import StudyFacts

_DIFFERENCES = (
    "gradient,\nper step",
    "gradient,\nper window",
    "cadence,\nimmediate",
    "cadence,\nfull",
)
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

    def draw(
        self, estimates: pd.DataFrame, seeds: pd.DataFrame, *, paths: Paths, study: StudyFacts
    ) -> None:
        found, rows, title, _ = _shown(estimates, study)
        networks = study.names(rows, "architecture")
        lines = {(slug, kind): title for slug, title in networks.items() for kind in _KINDS}
        with style.house():
            figure, plots = facets(
                lines,
                study.names(rows, "optimizer"),
                row_in=1.55,
                around_in=1.1,
                along="row",
                scales={line: line for line in lines},
            )
            looks = study.marks("learner", found.learners(study)) if found and len(rows) else {}
            if not looks:
                say(next(iter(plots.values())), "not run")
            for ((network, kind), optimizer), axes in plots.items() if looks else ():
                cells = _cells(rows, seeds, network, optimizer)
                if kind == _KINDS[0]:
                    _recoveries(axes, cells, found, looks, study)
                else:
                    axes.axhspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
                    _differences(axes, cells, found)
                if axes.get_subplotspec().is_first_col():
                    axes.set_ylabel(kind)
            if looks:
                handles = _legend(looks, study)
                spread = {"ncols": 4, "columnspacing": 1.2, "handlelength": 1}
                figure.legend(handles=handles, loc="outside lower center", **spread)
            style.heading(figure, study.of(rows).simulated, title)
            style.save(figure, *paths)

    def describe(
        self, estimates: pd.DataFrame, seeds: pd.DataFrame, *, study: StudyFacts
    ) -> Caption:
        _, rows, title, left_out = _shown(estimates, study)
        others = ""
        if left_out:
            names = " and ".join(study.called("architecture", name) for name in left_out)
            others = f" Recovery has no meaning on {names}: see the table."
        seen = "; ".join(
            f"{study.called('architecture', row['architecture'])}, "
            f"{study.called('optimizer', row['optimizer'])}, "
            f"{study.called('comparison', row['comparison'])}: "
            f"{number(row['gap_pp'], signed=True)} pp"
            for row in rows.to_dict("records")
        )
        return self.captioned(
            study.of(rows),
            f"Recovery (%) of two gradients at two cadences, {title}: immediate (the past held "
            "fixed) and full, updated at each step and once a window. Below, what the gradient "
            "adds at one cadence (full − immediate), and what the cadence adds for one gradient "
            f"(per window − per step). Bars: {OVER_SEEDS}; grey band: the margin of "
            f"±{study.margin_pp:g} pp; dots: seeds, where there are at most {FEW_POINTS}.{others}",
            f"Dots with intervals, networks by optimizers. {seen or 'No data'}.",
        )


def _shown(
    estimates: pd.DataFrame, study: StudyFacts
) -> tuple[Square | None, pd.DataFrame, str, list[str]]:
    """The two by two, rows of the first condition, its title, the networks that are left out."""
    found = square(study)
    rows = estimates[estimates["comparison"].isin(found or ())]
    known = [e for e in OF_HELDOUT if (rows["estimand"] == e).any()]
    rows = rows[rows["estimand"].isin(known[:1])]
    # The first condition is that with most networks and optimizers.
    by = ["task", "pair", "precision", "split", "intervention", "start"]
    sizes = rows.groupby(by, sort=False).size()
    if sizes.empty:
        return found, rows, "no data", []
    first = dict(zip(by, sizes.idxmax(), strict=True))
    rows = study.arrange(rows[(rows[by] == pd.Series(first)).all(axis=1)])
    title = f"{study.called('split', first['split'])}, {ESTIMANDS[known[0]]}"
    if estimates["pair"].nunique() > 1:
        title = f"{first['pair']}, {title}"
    networks = study.present(rows, "architecture")
    told = rows[rows.apply(has_meaning, axis=1) & rows["gap_pp"].notna()]
    kept = study.present(told, "architecture") or networks
    left_out = [name for name in networks if name not in kept]
    return found, rows[rows["architecture"].isin(kept)], title, left_out


def _cells(
    rows: pd.DataFrame, seeds: pd.DataFrame, network: str, optimizer: str
) -> dict[str, dict[str, Any]]:
    own = rows[(rows["architecture"] == network) & (rows["optimizer"] == optimizer)]
    return {row["comparison"]: row for row in with_points(own, seeds)}


def _recoveries(
    axes: Axes, cells: dict, found: Square, looks: dict[str, Mark], study: StudyFacts
) -> None:
    axes.set_xlim(-0.6, 3.6)
    axes.set_xticks([0.5, 2.5], ["immediate\ngradient", "full\ngradient"])
    axes.tick_params(axis="x", length=0)
    for x, (place, learner) in enumerate(
        zip(recoveries(cells, found), found.learners(study), strict=True)
    ):
        if place is None or not has_meaning(place[0]):
            _absent(axes, x, "not run" if place is None else "no meaning")
            continue
        row, side = place
        ends = [recovery_end(row, side, end) for end in ("low", "high")]
        points(axes, x, row["points"], f"{side}_percent")
        bar(axes, x, row[f"{side}_percent"], *ends, look=looks[learner])


def _differences(axes: Axes, cells: dict, found: Square) -> None:
    axes.set_xlim(-0.6, 3.6)
    axes.set_xticks(range(4), _DIFFERENCES, rotation=90)
    axes.tick_params(axis="x", length=0)
    style.zero_line(axes)
    for x, name in enumerate(found):
        row = cells.get(name)
        if row is None or not has_meaning(row) or is_missing(row["gap_pp"]):
            _absent(axes, x, "not run" if row is None else "no meaning")
            continue
        look = Mark(style.INK, "o" if x < 2 else "s", "-")
        points(axes, x, row["points"], "gap_pp")
        bar(axes, x, row["gap_pp"], row["t95_low_pp"], row["t95_high_pp"], look=look)


def _absent(axes: Axes, x: float, text: str) -> None:
    place = axes.get_xaxis_transform()
    axes.text(x, 0.5, text, transform=place, rotation=90, ha="center", va="center")


def _legend(looks: dict[str, Mark], study: StudyFacts) -> list[Line2D]:
    return [
        Line2D(
            [], [], color=look.color, marker=look.marker, linestyle="none",
            label=study.called("learner", learner),
        )
        for learner, look in looks.items()
    ]  # fmt: skip
