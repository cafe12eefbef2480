"""Equivalence intervals beside the margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.claims import condition_of
from orla.reports.estimates import PAPERS_ESTIMAND, has_meaning, with_points
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import bars, dots, facets, key, legend, swatch
from orla.reports.numbers import estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import CONDITION, StudyFacts

_PAPERS = {"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "color": style.QUIET}


class TostInterval(
    Figure,
    name="tost_interval",
    label="Equivalence within the margin",
    chapter="drift",
    order=10,
    needs=("gaps", "seed_gaps"),
):
    """Each gap's t interval of the study's main comparison beside the equivalence margin."""

    def select(self, gaps: pd.DataFrame, seeds: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = study.arrange(gaps[gaps["comparison"] == study.main])
        records = with_points(rows, seeds[seeds["estimand"] == PAPERS_ESTIMAND])
        first = np.array([_is_headline(row, study) for row in records], dtype=bool)
        # Those of the paper's headline come first.
        order = [*np.flatnonzero(first), *np.flatnonzero(~first)]
        records = [records[i] | {"paper": _papers(records[i], study)} for i in order]
        return Selection(rows.iloc[order], more={"records": records, "headline": first.any()})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, records = selection.rows, selection.more["records"]
        looks = study.marks("optimizer", study.present(rows, "optimizer"))
        figure, plots = facets(
            {"": ""}, row_in=0.36 * len(rows), around_in=1.35, width_in=style.TWO_COLUMNS_IN,
            xlabel="Gap (pp)",
        )  # fmt: skip
        axes = plots[""]
        axes.axvspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
        style.zero_line(axes, vertical=True)
        for y, row in enumerate(records):
            _row(axes, y, row, looks[row["optimizer"]])
        kinds = [kind for kind in CONDITION if kind == "split" or rows[kind].nunique() > 1]
        labels = [
            ", ".join(study.called(kind, row[kind]) for kind in ("optimizer", *reversed(kinds)))
            for row in records
        ]
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.7)
        axes.tick_params(axis="y", length=0)
        handles = [
            key(f"gap, {_level(study)} t interval", marker="o", linestyle="-", linewidth=2),
            key("seed", marker="o", markersize=3, color=style.QUIET),
        ]
        if any(row["paper"] for row in records):
            handles.append(key("the paper", linestyle="-", linewidth=0.9, **_PAPERS))
        legend(figure, [*handles, swatch(f"margin ±{study.margin_pp:g} pp")])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        records = selection.more["records"]
        items = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, "
            f"{study.title_of(row, selection.rows)}: "
            + estimate(
                row["gap_pp"], row["t90_low_pp"], row["t90_high_pp"], signed=True, n=row["n_seeds"]
            )
            + f" pp, {'equivalent' if row['equivalent'] else 'not shown equivalent'}"
            for row in records
        )
        caption = (
            f"Held-out gap in pp, {study.words(study.main)}, with its {_level(study)} t interval "
            f"over seeds of one pair: equivalent (TOST, α = {study.alpha:g}) where the interval "
            "lies inside the grey margin. Dots: seeds."
        )
        alt = f"Interval plot of gaps. {items}."
        if any(row["paper"] for row in records):
            caption += (
                " Open diamonds: the paper's estimates, with its interval where it prints one, or "
                "the 90 % interval that its δ* implies."
            )
        if selection.more["headline"]:
            low, high = _implied(load().headline)
            ends = estimate(load().headline["gap_pp"], low, high)
            alt += f" The paper, for the first of them: {ends} pp."
        return caption, alt


def _level(study: StudyFacts) -> str:
    return f"{100 * (1 - 2 * study.alpha):g} %"


def _is_headline(row: Mapping[str, Any], study: StudyFacts) -> bool:
    """Whether a row is of the condition that the paper's equivalence test is of."""
    if study.paper(row, study.main) is None:
        return False
    return all(row[name] == value for name, value in condition_of("gaps").items())


def _implied(headline: Mapping[str, Any]) -> tuple[float, float]:
    """The paper's interval, from its gap and δ*: a t interval is symmetric, δ* its farther end."""
    low = -headline["delta_star_pp"]
    return low, 2 * headline["gap_pp"] - low


def _papers(row: Mapping[str, Any], study: StudyFacts) -> tuple[float, float | None, float] | None:
    """The paper's gap and its interval for a row, or None."""
    paper = study.paper(row, study.main)
    gap = paper and paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    if gap is None or gap.value is None:
        return None
    low, high = _implied(paper.headline) if _is_headline(row, study) else (gap.low, gap.high)
    return gap.value, low, high


def _row(axes: Axes, y: float, row: Mapping[str, Any], look: Mark) -> None:
    """Our gap with its seeds and what is said of it, and the paper's below."""
    seeds = row["points"]["gap_pp"].dropna()
    dots(axes, seeds, np.full(len(seeds), y - 0.24), s=8, alpha=0.55)
    if pd.notna(row["gap_pp"]) and has_meaning(row):
        ends = (row["t90_low_pp"], row["t90_high_pp"]) if row["n_seeds"] > 1 else (None, None)
        wide = {"elinewidth": 2, "capsize": 3, "zorder": 3}
        bars(axes, row["gap_pp"], y, *ends, look, across=True, **wide)
    if row["paper"]:
        value, *ends = row["paper"]
        thin = {"markeredgecolor": style.QUIET, "markeredgewidth": 1, "zorder": 2.5}
        thin |= _PAPERS | {"elinewidth": 0.9}
        bars(axes, value, y + 0.32, *ends, look, across=True, **thin)
    beside = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
    axes.annotate(_text(row), (1.01, y), **beside)


def _text(row: Mapping[str, Any]) -> str:
    lost = int(row["n_diverged"])
    n = f"n = {int(row['n_seeds'])}" + (f" ({lost} div.)" if lost else "")
    if pd.isna(row["gap_pp"]):
        return f"{n}: no gap"
    if not has_meaning(row):
        return f"{n}: recovery has no meaning"
    same = "equivalent" if row["equivalent"] else "not shown equivalent"
    star = "" if is_missing(row["delta_star_pp"]) else f"δ* = {number(row['delta_star_pp'])}, "
    return f"{n}, {star}{same}"
