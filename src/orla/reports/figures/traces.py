"""MSE over the stream."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from orla.reports import style, words
from orla.reports.figures.shared import (
    THOUSANDS,
    Caption,
    Paths,
    count_range,
    one_condition,
    row_title,
    say,
    span,
)
from orla.reports.numbers import number

_SMOOTHED_WINDOWS = 5


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
    rows, title = one_condition(traces, architecture, precision)
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
            row_title(grid[i, -1], words.name("split", split))
        for axes, optimizer in zip(grid[0], optimizers, strict=False):
            axes.set_title(words.name("optimizer", optimizer))
        if len(rows):
            grid[0, 0].set_ylim(*_mse_limits(rows))
        else:
            say(grid[0, 0], "not run")
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
    rows, title = one_condition(traces, architecture, precision)
    seeds = rows.groupby(["learner", "optimizer", "split"])["seed"].nunique() if len(rows) else []
    seen = []
    if len(rows):
        last = rows[rows["step"] == rows.groupby("split")["step"].transform("max")]
        for split, part in last.groupby("split", sort=False):
            ends = "; ".join(
                f"{words.name('learner', learner)} {span(found['mse'], digits=2)}"
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
        f"(n = {count_range(seeds)}); grey dashes: the frozen model.",
        alt="Grid of line plots, splits by optimizers. MSE in the last window, "
        + ("; ".join(seen) or "no data")
        + ".",
    )


def _trace_facet(axes: Axes, facet: pd.DataFrame) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)
    if facet.empty:
        say(axes, "not run")
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
