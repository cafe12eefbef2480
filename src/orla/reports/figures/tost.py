"""Equivalence intervals beside the margin."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from orla.reports import paper as papers
from orla.reports import style, words
from orla.reports.figures.shared import (
    Caption,
    Paths,
    say,
)
from orla.reports.numbers import estimate, is_missing, number


def tost_interval(gaps: pd.DataFrame, seeds: pd.DataFrame, paths: Paths, dataset: dict) -> Caption:
    """Each gap's 90 % t interval beside the equivalence margin and the paper's estimate.

    Args:
        gaps: results/gaps; only the paper's diagonal is drawn.
        seeds: results/gap_seeds: every point.
        paths: where to save (.pdf, .png).
        dataset: name, label, simulated.
    """
    rows = _diagonal(gaps)
    with style.house():
        figure, axes = plt.subplots(
            figsize=(style.TWO_COLUMNS_IN, 1.35 + 0.36 * max(len(rows), 1)), layout="constrained"
        )
        margin = float(rows["margin_pp"].iloc[0]) if len(rows) else 3.0
        axes.axvspan(-margin, margin, color=style.BAND, zorder=0)
        style.zero_line(axes, vertical=True)
        if rows.empty:
            say(axes, "not run")
        for y, row in enumerate(rows.to_dict("records")):
            _tost_row(axes, -y, row, seeds)
        _tost_axes(axes, rows)
        figure.legend(handles=_tost_legend(margin), loc="outside lower center", ncols=4)
        style.heading(figure, dataset)
        style.save(figure, *paths)
    return describe_tost_interval(gaps, dataset)


def describe_tost_interval(gaps: pd.DataFrame, dataset: dict) -> Caption:
    """Caption and alternative text of ``tost_interval``."""
    rows = _diagonal(gaps)
    seen = "; ".join(
        f"{words.name('optimizer', row['optimizer'])}, {words.condition(row)}: "
        + estimate(
            row["gap_pp"], row["t90_low_pp"], row["t90_high_pp"], signed=True, n=row["n_seeds"]
        )
        + f" pp, {'equivalent' if row['equivalent'] else 'not shown equivalent'}"
        for row in rows.to_dict("records")
    )
    return Caption(
        title="Equivalence within the margin",
        caption=words.simulated_prefix(dataset)
        + "Held-out gap, full per window minus immediate per step (pp), with its 90 % t interval "
        "over paired seeds: equivalent (TOST, α = 0.05) where the interval lies inside the grey "
        "margin. Dots: seeds. Open diamonds: the paper's estimates, with its interval where it "
        "prints one; for Adam at 50/50 the 90 % interval that its δ* = 2.70 pp implies.",
        alt=f"Interval plot of gaps. {seen or 'No data'}. "
        "The paper, Adam 50/50: −0.3 [−2.7, 2.1] pp.",
    )


def _diagonal(gaps: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's comparison, its headline condition first."""
    if gaps.empty:
        return gaps
    rows = words.arrange(gaps[gaps["comparison"] == "paper"])
    return rows.loc[[*rows.index[_is_headline(rows)], *rows.index[~_is_headline(rows)]]]


def _is_headline(rows: pd.DataFrame) -> pd.Series:
    headline = papers.load().headline
    return (rows["architecture"] == "rnn") & np.logical_and.reduce(
        [rows[key] == headline[key] for key in ("optimizer", "precision", "split")]
    )


def _tost_row(axes: Axes, y: float, row: dict, seeds: pd.DataFrame) -> None:
    keys = ("architecture", "optimizer", "precision", "split", "comparison")
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
    look = style.mark(style.OPTIMIZERS, row["optimizer"])
    if pd.notna(row["gap_pp"]):
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
    _paper_row(axes, y - 0.32, row)
    axes.annotate(
        _tost_text(row),
        (1.01, y),
        xycoords=("axes fraction", "data"),
        va="center",
        annotation_clip=False,
    )


def _paper_row(axes: Axes, y: float, row: dict) -> None:
    paper = papers.load()
    theirs = paper.gap(row["optimizer"], row["precision"], row["split"], row["architecture"])
    if theirs is None or theirs.value is None:
        return
    low, high = theirs.low, theirs.high
    headline = paper.headline
    if all(row[key] == headline[key] for key in ("optimizer", "precision", "split")):
        # delta* is the farther end of the 90 % interval, and a t interval is symmetric.
        low = -headline["delta_star_pp"]
        high = 2 * headline["gap_pp"] - low
    bars = None if low is None else [[theirs.value - low], [high - theirs.value]]
    axes.errorbar(
        theirs.value,
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


def _tost_text(row: dict) -> str:
    lost = int(row["n_diverged"])
    n = f"n = {int(row['n_seeds'])}" + (f" ({lost} div.)" if lost else "")
    if pd.isna(row["gap_pp"]):
        return f"{n}: no gap"
    mark = "‡" if row["unreliable"] else ""
    same = "equivalent" if row["equivalent"] else "not shown equivalent"
    star = "" if is_missing(row["delta_star_pp"]) else f"δ* = {number(row['delta_star_pp'])}, "
    return f"{n}, {star}{same}{mark}"


def _tost_axes(axes: Axes, rows: pd.DataFrame) -> None:
    several = {kind: rows[kind].nunique() > 1 for kind in ("architecture", "precision")}
    labels = [
        ", ".join(
            [words.name("optimizer", row["optimizer"]), words.name("split", row["split"])]
            + [words.name(kind, row[kind]) for kind, more in several.items() if more]
        )
        for row in rows.to_dict("records")
    ]
    axes.set_yticks([-y for y in range(len(labels))], labels)
    axes.set_ylim(-max(len(labels), 1) + 0.4, 0.7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("Gap, full − immediate (pp)")


def _tost_legend(margin: float) -> list:
    return [
        Line2D([], [], color=style.INK, marker="o", linewidth=2, label="gap, 90 % t interval"),
        Line2D([], [], color=style.QUIET, marker="o", markersize=3, linestyle="none", label="seed"),
        Line2D(
            [],
            [],
            color=style.QUIET,
            marker="D",
            markersize=3.5,
            markerfacecolor="white",
            linewidth=0.9,
            label="the paper",
        ),
        plt.Rectangle((0, 0), 1, 1, color=style.BAND, label=f"margin ±{margin:g} pp"),
    ]
