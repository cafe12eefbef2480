"""Gap against adapt horizon."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from orla.reports import paper as papers
from orla.reports import style, words
from orla.reports.figures.shared import (
    THOUSANDS,
    Caption,
    Paths,
    conditions,
    say,
    seed_counts,
    span,
)


def horizon_gap(gaps: pd.DataFrame, paths: Paths, dataset: dict) -> Caption:
    """Gap against adapt horizon, four optimizers, with the paper's LARS range as a band.

    Args:
        gaps: results/horizon_gaps: pp, 95 % bootstrap.
        paths: where to save (.pdf, .png).
        dataset: name, label, simulated.
    """
    panels = conditions(gaps)
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
            if _is_the_papers(rows):
                axes.axhspan(theirs["low_pp"], theirs["high_pp"], color=style.BAND, zorder=0)
            style.zero_line(axes)
            _horizon_lines(axes, rows)
            axes.set_title(title, loc="left")
            axes.set_xlabel("Adapt horizon (steps)")
            axes.xaxis.set_major_formatter(THOUSANDS)
        grid[0, 0].set_ylabel("Gap, full − immediate (pp)")
        shown = {
            label: handle
            for axes in grid[0]
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        shown["the paper's LARS"] = plt.Rectangle((0, 0), 1, 1, color=style.BAND)
        figure.legend(
            list(shown.values()),
            list(shown),
            loc="outside lower center",
            ncols=3,
            columnspacing=1.2,
        )
        style.heading(figure, dataset)
        style.save(figure, *paths)
    return describe_horizon_gap(gaps, dataset)


def describe_horizon_gap(gaps: pd.DataFrame, dataset: dict) -> Caption:
    """Caption and alternative text of ``horizon_gap``."""
    seen = "; ".join(
        f"{words.name('optimizer', optimizer)} {span(rows['gap_pp'], signed=True)} pp"
        for optimizer in words.present(gaps, "optimizer")
        for rows in [gaps[gaps["optimizer"] == optimizer]]
    )
    return Caption(
        title="Gap against adapt horizon",
        caption=words.simulated_prefix(dataset)
        + "Held-out gap, full per window minus immediate per step (pp), against the number of "
        f"steps adapted. Bars: 95 % bootstrap interval over seeds (n = {seed_counts(gaps)}). "
        "Grey band: the range the paper gives for LARS (its Figure 2).",
        alt=f"Lines of gap against adapt horizon by optimizer. {seen or 'No data'}. "
        "The paper's LARS range is +17 to +27 pp.",
    )


def _is_the_papers(rows: pd.DataFrame) -> bool:
    """The paper's range holds for the RNN at 80/20 in float64."""
    found = (rows["architecture"] == "rnn") & (rows["split"] == "80-20")
    return bool((found & (rows["precision"] == "float64")).any())


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
        say(axes, "no gap: diverged" if len(rows) else "not run")
