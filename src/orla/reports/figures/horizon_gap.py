"""Gap against adapt horizon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import THOUSANDS, say, seed_counts, span
from orla.reports.numbers import number
from orla.reports.study import Group, StudyFacts


class HorizonGap(
    Figure,
    name="horizon_gap",
    label="Gap against adapt horizon",
    chapter="horizon",
    order=10,
    needs=("horizon_gaps",),
):
    """Gap against adapt horizon by optimizer, with the paper's range as a band where it holds."""

    def draw(self, gaps: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        panels = list(study.groups(gaps)) or [Group("", {}, gaps)]
        looks = study.marks("optimizer", study.present(gaps, "optimizer"))
        width = style.ONE_COLUMN_IN if len(panels) < 2 else style.TWO_COLUMNS_IN
        across = min(len(panels), 3)
        down = -(-len(panels) // across)
        with style.house():
            figure, grid = plt.subplots(
                down,
                across,
                figsize=(width, 1.2 + 1.9 * down),
                squeeze=False,
                sharey=True,
                layout="constrained",
            )
            shown: dict[str, Any] = {}
            for axes in grid.flat[len(panels) :]:
                axes.set_visible(False)
            for axes, (title, keys, rows) in zip(grid.flat, panels, strict=False):
                band = _band(study, keys)
                if band:
                    axes.axhspan(band["low_pp"], band["high_pp"], color=style.BAND, zorder=0)
                style.zero_line(axes)
                _horizon_lines(axes, rows, looks, study)
                axes.set_title(title.replace(", ", ",\n", 1) if across > 2 else title, loc="left")
                axes.set_xlabel("Adapt horizon (steps)")
                axes.xaxis.set_major_formatter(THOUSANDS)
                handles, labels = axes.get_legend_handles_labels()
                shown |= dict(zip(labels, handles, strict=True))
                if band:
                    label = f"the paper's {study.called('optimizer', band['optimizer'])}"
                    shown[label] = plt.Rectangle((0, 0), 1, 1, color=style.BAND)
            for axes in grid[:, 0]:
                axes.set_ylabel("Gap (pp)")
            if shown:
                figure.legend(
                    list(shown.values()),
                    list(shown),
                    loc="outside lower center",
                    ncols=3 if len(panels) > 1 else 2,
                    columnspacing=1.2,
                )
            style.heading(figure, study.of(gaps).simulated)
            style.save(figure, *paths)

    def describe(self, gaps: pd.DataFrame, *, study: StudyFacts) -> Caption:
        seen = "; ".join(
            f"{study.called('optimizer', optimizer)} {span(rows['gap_pp'], signed=True)} pp"
            for optimizer in study.present(gaps, "optimizer")
            for rows in [gaps[gaps["optimizer"] == optimizer]]
        )
        caption = (
            f"Held-out gap in pp, {study.words(study.main)}, against the number of steps adapted. "
            f"Bars: 95 % bootstrap interval over seeds of one pair (n = {seed_counts(gaps)})."
        )
        alt = f"Lines of gap against adapt horizon by optimizer. {seen or 'No data'}."
        band = next(filter(None, (_band(study, keys) for _, keys, _ in study.groups(gaps))), None)
        if band:
            whose = study.called("optimizer", band["optimizer"])
            ends = (number(band[end], 0, signed=True) for end in ("low_pp", "high_pp"))
            caption += f" Grey band: the range the paper gives for {whose} (its Figure 2)."
            alt += f" The paper's {whose} range is {' to '.join(ends)} pp."
        return self.captioned(study.of(gaps), caption, alt)


def _band(study: StudyFacts, keys: Mapping[str, str]) -> dict[str, Any] | None:
    """The paper's range, which is of one condition only."""
    paper = study.paper(keys, study.main) if keys else None
    same = ("architecture", "precision", "split")
    fits = paper is not None and all(keys[key] == paper.horizon[key] for key in same)
    return paper.horizon if fits else None


def _horizon_lines(
    axes: Axes, rows: pd.DataFrame, looks: dict[str, Mark], study: StudyFacts
) -> None:
    optimizers = study.present(rows, "optimizer")
    horizons = np.sort(rows["horizon_steps"].unique()) if len(rows) else np.array([])
    # Side by side, so that the intervals of one horizon do not hide each other.
    apart = 0.05 * np.min(np.diff(horizons)) if len(horizons) > 1 else 100.0
    for i, optimizer in enumerate(optimizers):
        part = rows[rows["optimizer"] == optimizer].sort_values("horizon_steps")
        look = looks[optimizer]
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
            label=study.called("optimizer", optimizer),
        )
    if len(horizons):
        axes.set_xticks(horizons)
    if not len(rows) or rows["gap_pp"].isna().all():
        say(axes, "no gap: diverged" if len(rows) else "not run")
