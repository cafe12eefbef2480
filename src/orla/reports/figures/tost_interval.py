"""Equivalence intervals beside the margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.claims import condition_of
from orla.reports.estimates import has_meaning
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import say
from orla.reports.numbers import estimate, is_missing, number
from orla.reports.paper import load
from orla.reports.study import CONDITION, StudyFacts


class TostInterval(
    Figure,
    name="tost_interval",
    label="Equivalence within the margin",
    chapter="drift",
    order=10,
    needs=("gaps", "gap_seeds"),
):
    """Each gap's t interval of the study's main comparison beside the equivalence margin."""

    def draw(
        self, gaps: pd.DataFrame, seeds: pd.DataFrame, *, paths: Paths, study: StudyFacts
    ) -> None:
        rows = _shown(gaps, study)
        height = 1.35 + 0.36 * max(len(rows), 1)
        with style.house():
            figure, axes = plt.subplots(
                figsize=(style.TWO_COLUMNS_IN, height), layout="constrained"
            )
            axes.axvspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
            style.zero_line(axes, vertical=True)
            if rows.empty:
                say(axes, "not run")
            looks = study.marks("optimizer", study.present(rows, "optimizer"))
            theirs = []
            for y, row in enumerate(rows.to_dict("records")):
                _tost_row(axes, -y, row, seeds, looks[row["optimizer"]])
                theirs.append(_paper_row(axes, -y - 0.32, row, study))
            _tost_axes(axes, rows, study)
            handles = _tost_legend(study, any(theirs))
            figure.legend(handles=handles, loc="outside lower center", ncols=4)
            style.heading(figure, study.of(rows).simulated)
            style.save(figure, *paths)

    def describe(self, gaps: pd.DataFrame, seeds: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows = _shown(gaps, study)
        seen = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, {study.title_of(row, rows)}: "
            + estimate(
                row["gap_pp"], row["t90_low_pp"], row["t90_high_pp"], signed=True, n=row["n_seeds"]
            )
            + f" pp, {'equivalent' if row['equivalent'] else 'not shown equivalent'}"
            for row in rows.to_dict("records")
        )
        caption = (
            f"Held-out gap in pp, {study.words(study.main)}, with its {_level(study)} t interval "
            f"over seeds of one pair: equivalent (TOST, α = {study.alpha:g}) where the interval "
            "lies inside the grey margin. Dots: seeds."
        )
        alt = f"Interval plot of gaps. {seen or 'No data'}."
        if any(_theirs(row, study) for row in rows.to_dict("records")):
            caption += (
                " Open diamonds: the paper's estimates, with its interval where it prints one, or "
                "the 90 % interval that its δ* implies."
            )
        if any(_is_headline(row, study) for row in rows.to_dict("records")):
            low, high = _implied(load().headline)
            ends = estimate(load().headline["gap_pp"], low, high)
            alt += f" The paper, for the first of them: {ends} pp."
        return self.captioned(study.of(rows), caption, alt)


def _level(study: StudyFacts) -> str:
    return f"{100 * (1 - 2 * study.alpha):g} %"


def _shown(gaps: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    """The rows of the main comparison, those of the paper's headline first."""
    if gaps.empty:
        return gaps
    rows = study.arrange(gaps[gaps["comparison"] == study.main])
    first = np.array([_is_headline(row, study) for row in rows.to_dict("records")], dtype=bool)
    return rows.loc[[*rows.index[first], *rows.index[~first]]] if len(rows) else rows


def _is_headline(row: Mapping[str, Any], study: StudyFacts) -> bool:
    """Whether a row is of the condition that the paper's equivalence test is of."""
    where = condition_of("gaps")
    fits = study.paper(row, study.main) is not None
    return fits and all(row[key] == value for key, value in where.items())


def _implied(headline: Mapping[str, Any]) -> tuple[float, float]:
    """The paper's interval, from its gap and δ*: a t interval is symmetric, δ* its farther end."""
    low = -headline["delta_star_pp"]
    return low, 2 * headline["gap_pp"] - low


def _theirs(row: Mapping[str, Any], study: StudyFacts) -> tuple[float, float | None, float] | None:
    """The paper's gap and its interval for a row, or None."""
    paper = study.paper(row, study.main)
    if paper is None:
        return None
    found = paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    if found is None or found.value is None:
        return None
    low, high = _implied(paper.headline) if _is_headline(row, study) else (found.low, found.high)
    return found.value, low, high


def _tost_row(axes: Axes, y: float, row: dict, seeds: pd.DataFrame, look: Mark) -> None:
    keys = (*CONDITION, "optimizer", "comparison")
    if len(seeds):
        own = np.logical_and.reduce([seeds[key] == row[key] for key in keys])
        points = seeds.loc[own, "gap_pp"].dropna()
        axes.scatter(
            points,
            np.full(len(points), y + 0.24),
            s=8,
            color=style.QUIET,
            alpha=0.55,
            linewidths=0,
            zorder=2,
        )
    if pd.notna(row["gap_pp"]) and has_meaning(row):
        ends = [[row["gap_pp"] - row["t90_low_pp"]], [row["t90_high_pp"] - row["gap_pp"]]]
        bars = None if row["n_seeds"] < 2 or np.isnan(ends).any() else ends
        axes.errorbar(
            row["gap_pp"],
            y,
            xerr=bars,
            color=look.color,
            marker=look.marker,
            markeredgecolor=style.INK,
            markeredgewidth=0.5,
            elinewidth=2,
            capsize=3,
            zorder=3,
        )
    axes.annotate(
        _tost_text(row),
        (1.01, y),
        xycoords=("axes fraction", "data"),
        va="center",
        annotation_clip=False,
    )


def _paper_row(axes: Axes, y: float, row: dict, study: StudyFacts) -> bool:
    """Draw the paper's gap; False where it has none."""
    theirs = _theirs(row, study)
    if theirs is None:
        return False
    value, low, high = theirs
    bars = None if low is None else [[value - low], [high - value]]
    axes.errorbar(
        value,
        y,
        xerr=bars,
        color=style.QUIET,
        marker="D",
        markersize=3.5,
        markerfacecolor="white",
        elinewidth=0.9,
        capsize=2,
        zorder=2.5,
    )
    return True


def _tost_text(row: dict) -> str:
    lost = int(row["n_diverged"])
    n = f"n = {int(row['n_seeds'])}" + (f" ({lost} div.)" if lost else "")
    if pd.isna(row["gap_pp"]):
        return f"{n}: no gap"
    if not has_meaning(row):
        return f"{n}: recovery has no meaning"
    same = "equivalent" if row["equivalent"] else "not shown equivalent"
    star = "" if is_missing(row["delta_star_pp"]) else f"δ* = {number(row['delta_star_pp'])}, "
    return f"{n}, {star}{same}"


def _tost_axes(axes: Axes, rows: pd.DataFrame, study: StudyFacts) -> None:
    told = [kind for kind in CONDITION if kind == "split" or rows[kind].nunique() > 1]
    labels = [
        ", ".join(study.called(kind, row[kind]) for kind in ("optimizer", *reversed(told)))
        for row in rows.to_dict("records")
    ]
    axes.set_yticks([-y for y in range(len(labels))], labels)
    axes.set_ylim(-max(len(labels), 1) + 0.4, 0.7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Gap (pp)")


def _tost_legend(study: StudyFacts, theirs: bool) -> list:
    hollow = {"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "linewidth": 0.9}
    dot = {"marker": "o", "markersize": 3, "linestyle": "none"}
    ours = f"gap, {_level(study)} t interval"
    handles = [
        Line2D([], [], color=style.INK, marker="o", linewidth=2, label=ours),
        Line2D([], [], color=style.QUIET, label="seed", **dot),
    ]
    if theirs:
        handles.append(Line2D([], [], color=style.QUIET, label="the paper", **hollow))
    margin = f"margin ±{study.margin_pp:g} pp"
    return [*handles, plt.Rectangle((0, 0), 1, 1, color=style.BAND, label=margin)]
