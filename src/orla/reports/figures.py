"""The study's figures, drawn from tidy results; each returns its caption and alternative text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from orla.reports import paper as papers
from orla.reports import style, words
from orla.reports.numbers import estimate, is_missing, number, rate

Paths = Sequence[Path | str]

# Recoveries far under zero are runs on their way out: drawn at the floor, with an open triangle.
_FLOOR_PERCENT = -20.0
_SMOOTHED_WINDOWS = 5
_THOUSANDS = FuncFormatter(lambda value, _: f"{value / 1000:g}k" if value else "0")


@dataclass(frozen=True)
class Caption:
    """What a figure shows (caption) and what one sees in it (alternative text)."""

    title: str
    caption: str
    alt: str


def horizon_gap(gaps: pd.DataFrame, paths: Paths, dataset: dict) -> Caption:
    """Gap against adapt horizon, four optimizers, with the paper's LARS range as a band.

    Args:
        gaps: results/horizon_gaps: pp, 95 % bootstrap.
        paths: where to save (.pdf, .png).
        dataset: name, label, simulated.
    """
    panels = _panels(gaps)
    width = style.ONE_COLUMN_IN if len(panels) < 2 else style.TWO_COLUMNS_IN
    with style.house():
        figure, grid = plt.subplots(
            1,
            max(len(panels), 1),
            figsize=(width, 3.1),
            squeeze=False,
            sharey=True,
            layout="constrained",
        )
        theirs = papers.load().horizon
        for axes, (title, rows) in zip(grid[0], panels or [("", gaps)], strict=True):
            axes.axhspan(theirs["low_pp"], theirs["high_pp"], color=style.BAND, zorder=0)
            style.zero_line(axes)
            _horizon_lines(axes, rows)
            axes.set_title(title, loc="left")
            axes.set_xlabel("Adapt horizon (steps)")
            axes.xaxis.set_major_formatter(_THOUSANDS)
        grid[0, 0].set_ylabel("Gap, full − immediate (pp)")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        handles.append(plt.Rectangle((0, 0), 1, 1, color=style.BAND))
        labels.append("the paper's LARS")
        figure.legend(handles, labels, loc="outside lower center", ncols=3, columnspacing=1.2)
        style.heading(figure, dataset)
        style.save(figure, *paths)
    return describe_horizon_gap(gaps, dataset)


def describe_horizon_gap(gaps: pd.DataFrame, dataset: dict) -> Caption:
    """Caption and alternative text of ``horizon_gap``."""
    seen = "; ".join(
        f"{words.name('optimizer', optimizer)} {_span(rows['gap_pp'], signed=True)} pp"
        for optimizer in words.present(gaps, "optimizer")
        for rows in [gaps[gaps["optimizer"] == optimizer]]
    )
    return Caption(
        title="Gap against adapt horizon",
        caption=words.simulated_prefix(dataset)
        + "Held-out gap, full per window minus immediate per step (pp), against the number of "
        f"steps adapted. Bars: 95 % bootstrap interval over seeds (n = {_counts(gaps)}). "
        "Grey band: the range the paper gives for LARS (its Figure 2).",
        alt=f"Lines of gap against adapt horizon by optimizer. {seen or 'No data'}. "
        "The paper's LARS range is +17 to +27 pp.",
    )


def lr_curves(
    curves: pd.DataFrame,
    paths: Paths,
    dataset: dict,
    architecture: str | None = None,
    precision: str | None = None,
) -> Caption:
    """Held-out recovery against learning rate, every model a dot, one facet a learner x optimizer.

    Args:
        curves: results/lr_curves: one row a model.
        paths: where to save (.pdf, .png).
        dataset: name, label, simulated.
        architecture, precision: which to draw; the first present by default.
    """
    rows, title = _one(curves, architecture, precision)
    learners, optimizers = words.present(rows, "learner"), words.present(rows, "optimizer")
    shape = (max(len(learners), 1), max(len(optimizers), 1))
    with style.house():
        figure, grid = plt.subplots(
            *shape,
            figsize=(style.TWO_COLUMNS_IN, 0.7 + 1.25 * shape[0]),
            squeeze=False,
            sharey=True,
            sharex="col",
            layout="constrained",
        )
        limits = _recovery_limits(rows)
        if rows.empty:
            _say(grid[0, 0], "not run")
        for i, learner in enumerate(learners):
            for j, optimizer in enumerate(optimizers):
                facet = rows[(rows["learner"] == learner) & (rows["optimizer"] == optimizer)]
                _curve_facet(grid[i, j], facet, limits)
            _row_title(grid[i, -1], words.name("learner", learner))
        for axes, optimizer in zip(grid[0], optimizers, strict=False):
            axes.set_title(words.name("optimizer", optimizer))
        for axes in grid[-1]:
            axes.set_xlabel("Learning rate")
        figure.supylabel("Held-out recovery (%)", fontsize=style.FONT_PT)
        figure.legend(
            handles=_curve_legend(rows), loc="outside lower center", ncols=5, columnspacing=1.2
        )
        style.heading(figure, dataset, title)
        style.save(figure, *paths)
    return describe_lr_curves(curves, dataset, architecture, precision)


def describe_lr_curves(
    curves: pd.DataFrame,
    dataset: dict,
    architecture: str | None = None,
    precision: str | None = None,
) -> Caption:
    """Caption and alternative text of ``lr_curves``."""
    rows, title = _one(curves, architecture, precision)
    lost = int(rows["diverged"].sum()) if len(rows) else 0
    best = "; ".join(
        f"{words.name('optimizer', optimizer)} {_rates(part['learning_rate'])}"
        for optimizer, part in rows[rows["selected"].astype(bool)].groupby("optimizer", sort=False)
    )
    return Caption(
        title="Recovery against learning rate",
        caption=words.simulated_prefix(dataset)
        + f"Held-out recovery against learning rate ({title}). Every model is a dot; the line is "
        "the mean over seeds, drawn through rates where none diverged. A ring marks the rate "
        "selected on the validation part, a cross a rate where models diverged "
        f"({lost} of {len(rows)} models), an open triangle models under the axis.",
        alt="Grid of dot plots, learners by optimizers: held-out recovery by "
        f"learning rate. Selected rates over learners and splits: {best or 'none'}. The table "
        "of held-out recovery gives each.",
    )


def adaptation_traces(
    traces: pd.DataFrame,
    paths: Paths,
    dataset: dict,
    architecture: str | None = None,
    precision: str | None = None,
) -> Caption:
    """MSE over the stream at the selected rates, one line a learner, frozen as reference.

    Args:
        traces: results/traces: one row a window of a model.
        paths: where to save (.pdf, .png).
        dataset: name, label, simulated.
        architecture, precision: which to draw; the first present by default.
    """
    rows, title = _one(traces, architecture, precision)
    splits, optimizers = words.present(rows, "split"), words.present(rows, "optimizer")
    shape = (max(len(splits), 1), max(len(optimizers), 1))
    with style.house():
        figure, grid = plt.subplots(
            *shape,
            figsize=(style.TWO_COLUMNS_IN, 1.0 + 1.8 * shape[0]),
            squeeze=False,
            sharey=True,
            sharex="row",
            layout="constrained",
        )
        for i, split in enumerate(splits):
            for j, optimizer in enumerate(optimizers):
                facet = rows[(rows["split"] == split) & (rows["optimizer"] == optimizer)]
                _trace_facet(grid[i, j], facet)
            _row_title(grid[i, -1], words.name("split", split))
        for axes, optimizer in zip(grid[0], optimizers, strict=False):
            axes.set_title(words.name("optimizer", optimizer))
        if len(rows):
            grid[0, 0].set_ylim(*_mse_limits(rows))
        else:
            _say(grid[0, 0], "not run")
        for axes in grid[-1]:
            axes.set_xlabel("Step of session B")
        figure.supylabel("MSE (z-scored velocity)", fontsize=style.FONT_PT)
        figure.legend(
            handles=_trace_legend(words.present(rows, "learner")),
            loc="outside lower center",
            ncols=3,
            columnspacing=1.2,
        )
        style.heading(figure, dataset, title)
        style.save(figure, *paths)
    return describe_adaptation_traces(traces, dataset, architecture, precision)


def describe_adaptation_traces(
    traces: pd.DataFrame,
    dataset: dict,
    architecture: str | None = None,
    precision: str | None = None,
) -> Caption:
    """Caption and alternative text of ``adaptation_traces``."""
    rows, title = _one(traces, architecture, precision)
    seeds = rows.groupby(["learner", "optimizer", "split"])["seed"].nunique() if len(rows) else []
    seen = []
    if len(rows):
        last = rows[rows["step"] == rows.groupby("split")["step"].transform("max")]
        for split, part in last.groupby("split", sort=False):
            ends = "; ".join(
                f"{words.name('learner', learner)} {_span(found['mse'], digits=2)}"
                for learner in words.present(part, "learner")
                for found in [part[part["learner"] == learner]]
            )
            frozen = number(part["frozen_mse"].mean(), 2)
            seen.append(f"{words.name('split', split)}: frozen {frozen}; {ends}")
    return Caption(
        title="Adaptation over the stream",
        caption=words.simulated_prefix(dataset)
        + f"MSE while learning, at the selected rates ({title}), per window of 200 steps, as a "
        f"running mean over {_SMOOTHED_WINDOWS} windows. Lines: mean over the seeds still finite "
        "in that window; bands: ± 1 standard deviation "
        f"(n = {_range(seeds)}); grey dashes: the frozen model.",
        alt="Grid of line plots, splits by optimizers. MSE in the last window, "
        + ("; ".join(seen) or "no data")
        + ".",
    )


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
            _say(axes, "not run")
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


# --- horizon_gap --------------------------------------------------------------------------------


def _horizon_lines(axes: Axes, rows: pd.DataFrame) -> None:
    optimizers = words.present(rows, "optimizer")
    horizons = np.sort(rows["horizon_steps"].unique()) if len(rows) else np.array([])
    # Side by side, so that the intervals of one horizon do not hide each other.
    apart = 0.05 * np.min(np.diff(horizons)) if len(horizons) > 1 else 100.0
    for i, optimizer in enumerate(optimizers):
        part = rows[rows["optimizer"] == optimizer].sort_values("horizon_steps")
        look = style.mark(style.OPTIMIZERS, optimizer)
        bars = np.clip(
            np.vstack([part["gap_pp"] - part["low_pp"], part["high_pp"] - part["gap_pp"]]), 0, None
        )
        axes.errorbar(
            part["horizon_steps"] + apart * (i - (len(optimizers) - 1) / 2),
            part["gap_pp"],
            yerr=bars,
            color=look.color,
            marker=look.marker,
            linestyle=look.line,
            markeredgecolor=style.INK,
            markeredgewidth=0.4,
            elinewidth=1,
            capsize=2,
            label=words.name("optimizer", optimizer),
        )
    if len(horizons):
        axes.set_xticks(horizons)
    if not len(rows) or rows["gap_pp"].isna().all():
        _say(axes, "no gap: diverged" if len(rows) else "not run")


# --- lr_curves ----------------------------------------------------------------------------------


def _recovery_limits(rows: pd.DataFrame) -> tuple[float, float]:
    values = rows["recovery_heldout_percent"].dropna() if len(rows) else pd.Series([0.0, 50.0])
    if values.empty:
        return _FLOOR_PERCENT, 100.0
    low = max(min(values.min(), 0.0), _FLOOR_PERCENT)
    high = max(values.max(), 10.0)
    pad = 0.08 * (high - low)
    return low - 3 * pad, high + pad


def _curve_facet(axes: Axes, facet: pd.DataFrame, limits: tuple[float, float]) -> None:
    if facet.empty:
        _say(axes, "not run")
    style.zero_line(axes)
    axes.set_xscale("log")
    axes.set_ylim(*limits)
    axes.xaxis.set_major_locator(LogLocator(numticks=4))
    axes.xaxis.set_minor_formatter(NullFormatter())
    floor = limits[0] + 0.14 * (limits[1] - limits[0])
    splits = words.present(facet, "split")
    for i, split in enumerate(splits):
        _curve_split(axes, facet[facet["split"] == split], split, floor, i - (len(splits) - 1) / 2)


def _curve_split(axes: Axes, rows: pd.DataFrame, split: str, floor: float, shift: float) -> None:
    look = style.mark(style.SPLITS, split)
    x = rows["learning_rate"] * 10 ** (0.13 * shift)
    y = rows["recovery_heldout_percent"]
    inside = y >= floor
    dots = {"color": look.color, "marker": look.marker, "zorder": 2}
    axes.scatter(x[inside], y[inside], s=7, alpha=0.55, linewidths=0, **dots)
    axes.scatter(
        x[y < floor],
        np.full((y < floor).sum(), floor),
        s=16,
        marker="v",
        facecolors="none",
        edgecolors=look.color,
        linewidths=0.8,
        zorder=2,
    )
    lost = rows["diverged"].astype(bool)
    bottom = axes.get_ylim()[0]
    axes.scatter(
        x[lost],
        np.full(lost.sum(), bottom + 0.3 * (floor - bottom)),
        s=16,
        marker="x",
        color=look.color,
        linewidths=1,
        zorder=3,
    )
    shifted = 10 ** (0.13 * shift)
    means = rows.groupby("learning_rate")["recovery_heldout_percent"].agg(
        lambda values: values.mean() if values.notna().all() else np.nan
    )
    axes.plot(
        means.index * shifted,
        means.where(means >= floor),
        color=look.color,
        linestyle=look.line,
        linewidth=1,
        zorder=2.5,
    )
    chosen = rows[rows["selected"]]
    if len(chosen) and chosen["recovery_heldout_percent"].notna().any():
        level = max(chosen["recovery_heldout_percent"].mean(), floor)
        axes.plot(
            chosen["learning_rate"].iloc[0] * shifted,
            level,
            marker="o",
            markersize=6.5,
            markerfacecolor="none",
            markeredgecolor=style.OPTIMIZERS["lars"].color,
            markeredgewidth=1.3,
            linestyle="none",
            zorder=4,
        )


def _curve_legend(rows: pd.DataFrame) -> list[Line2D]:
    handles = []
    for split in words.present(rows, "split"):
        look = style.mark(style.SPLITS, split)
        handles.append(
            Line2D(
                [],
                [],
                color=look.color,
                marker=look.marker,
                linestyle=look.line,
                markersize=3,
                linewidth=1,
                label=words.name("split", split),
            )
        )
    ring = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "linestyle": "none"}
    handles.append(
        Line2D(
            [],
            [],
            markeredgecolor=style.OPTIMIZERS["lars"].color,
            markeredgewidth=1.6,
            label="selected",
            **ring,
        )
    )
    handles.append(
        Line2D(
            [], [], color=style.INK, marker="x", linestyle="none", markersize=4, label="diverged"
        )
    )
    handles.append(
        Line2D(
            [],
            [],
            color=style.INK,
            marker="v",
            markerfacecolor="none",
            linestyle="none",
            markersize=4,
            label="under the axis",
        )
    )
    return handles


# --- adaptation_traces --------------------------------------------------------------------------


def _trace_facet(axes: Axes, facet: pd.DataFrame) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(_THOUSANDS)
    if facet.empty:
        _say(axes, "not run")
        return
    frozen = _smooth(facet.groupby("step")["frozen_mse"].mean())
    axes.plot(
        frozen.index, frozen, color="#8f8f8f", linestyle=(0, (2, 1)), linewidth=1.1, zorder=1.5
    )
    for learner in words.present(facet, "learner"):
        look = style.mark(style.LEARNERS, learner)
        models = facet[facet["learner"] == learner].pivot(
            index="step", columns="seed", values="mse"
        )
        models = _smooth(models).where(models.notna())
        mean, spread = models.mean(axis=1), models.std(axis=1, ddof=1).fillna(0)
        axes.fill_between(
            mean.index, mean - spread, mean + spread, color=look.color, alpha=0.13, linewidth=0
        )
        axes.plot(
            mean.index,
            mean,
            color=look.color,
            linestyle=look.line,
            linewidth=1.2,
            marker=look.marker,
            markersize=3,
            markevery=_every(len(mean), learner),
            markeredgecolor="white",
            markeredgewidth=0.3,
        )


def _smooth(values: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Running mean over windows: the stream's own swings would bury the learners' differences."""
    return values.rolling(_SMOOTHED_WINDOWS, center=True, min_periods=1).mean()


def _every(count: int, learner: str) -> tuple[int, int]:
    """Markers some way apart, and staggered by learner, so that none hides another."""
    apart = max(count // 4, 1)
    learners = list(style.LEARNERS)
    turn = learners.index(learner) if learner in learners else 0
    return (turn * apart // max(len(learners), 1), apart)


def _mse_limits(rows: pd.DataFrame) -> tuple[float, float]:
    """All of the mean traces, save those of models on their way to divergence."""
    means = rows.groupby(["learner", "optimizer", "split", "step"])["mse"].mean().dropna()
    frozen = rows["frozen_mse"]
    high = 1.1 * frozen.max()
    if len(means):
        high = max(high, min(1.05 * means.quantile(0.995), 2 * frozen.max()))
    low = min(means.quantile(0.01), frozen.min()) if len(means) else frozen.min()
    return 0.95 * low, high


def _trace_legend(learners: list[str]) -> list[Line2D]:
    handles = [
        Line2D(
            [],
            [],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
            label=words.name("learner", learner),
        )
        for learner in learners
        for look in [style.mark(style.LEARNERS, learner)]
    ]
    handles.append(Line2D([], [], color="#8f8f8f", linestyle=(0, (2, 1)), label="frozen"))
    return handles


# --- tost_interval ------------------------------------------------------------------------------


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


# --- shared -------------------------------------------------------------------------------------


def _panels(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    if frame.empty:
        return []
    keys = ["architecture", "precision", "split"]
    groups = words.arrange(frame).groupby(keys, sort=False)
    return [(words.condition(rows.iloc[0]), rows) for _, rows in groups]


def _one(
    frame: pd.DataFrame, architecture: str | None, precision: str | None
) -> tuple[pd.DataFrame, str]:
    """The rows of one architecture and precision (the first present), and their title."""
    if frame.empty:
        return frame, "no data"
    architecture = architecture or words.present(frame, "architecture")[0]
    rows = frame[frame["architecture"] == architecture]
    precision = precision or (words.present(rows, "precision") or ["float64"])[0]
    title = f"{words.name('architecture', architecture)}, {words.name('precision', precision)}"
    return rows[rows["precision"] == precision], title


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.INK)


def _row_title(axes: Axes, text: str) -> None:
    axes.annotate(
        text.replace(", ", ",\n"),
        (1.03, 0.5),
        xycoords="axes fraction",
        rotation=270,
        va="center",
        ha="left",
        multialignment="center",
        annotation_clip=False,
    )


def _span(values: pd.Series, digits: int = 1, signed: bool = False) -> str:
    values = values.dropna()
    if values.empty:
        return "diverged"
    low, high = (number(end, digits, signed) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _rates(values: pd.Series) -> str:
    low, high = rate(values.min()), rate(values.max())
    return low if low == high else f"{low} to {high}"


def _counts(frame: pd.DataFrame) -> str:
    return _range(frame["n_seeds"]) if len(frame) else "0"


def _range(counts: pd.Series | Sequence[int]) -> str:
    found = sorted({int(count) for count in counts})
    if not found:
        return "0"
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"
