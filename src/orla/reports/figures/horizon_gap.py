"""Gap against adapt horizon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import (
    THOUSANDS,
    bars,
    broken,
    count_range,
    facets,
    keys_of,
    legend,
    say,
    span,
    swatch,
)  # fmt: skip
from orla.reports.numbers import number
from orla.reports.study import StudyFacts


class HorizonGap(
    Figure,
    name="horizon_gap",
    label="Gap against adapt horizon",
    chapter="horizon",
    order=10,
    needs=("horizon_gaps",),
):
    """Gap against adapt horizon by optimizer, with the paper's range as a band where it holds."""

    def select(self, gaps: pd.DataFrame, *, study: StudyFacts) -> Selection:
        groups = list(study.groups(gaps))
        bands = [_band(study, group.keys) for group in groups]
        return Selection(gaps, more={"groups": groups, "bands": bands})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        groups, bands = selection.more["groups"], selection.more["bands"]
        looks = study.marks("optimizer", study.present(selection.rows, "optimizer"))
        titles = [group.title if len(groups) < 3 else broken(group.title) for group in groups]
        figure, plots = facets(
            dict(enumerate(titles)),
            row_in=1.9,
            around_in=1.2,
            x="plot",
            xlabel="Adapt horizon (steps)",
            ylabel="Gap (pp)",
            wrap=3,
        )
        for axes, group, band in zip(plots.values(), groups, bands, strict=True):
            if band:
                axes.axhspan(band["low_pp"], band["high_pp"], color=style.BAND, zorder=0)
            style.zero_line(axes)
            _lines(axes, group.rows, looks)
        handles = keys_of("optimizer", looks, study, lines=True)
        whose = {study.called("optimizer", band["optimizer"]) for band in bands if band}
        handles += [swatch(f"the paper's {name}") for name in whose]
        legend(figure, handles, ncols=3 if len(groups) > 1 else 2)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        gaps = selection.rows
        items = "; ".join(
            f"{name} {span(gaps.loc[gaps['optimizer'] == slug, 'gap_pp'], signed=True)} pp"
            for slug, name in study.names(gaps, "optimizer").items()
        )
        caption = (
            f"Held-out gap in pp, {study.words(study.main)}, against the number of steps adapted. "
            "Bars: 95 % bootstrap interval over seeds of one pair (n = "
            f"{count_range(gaps['n_seeds'])})."
        )
        alt = f"Lines of gap against adapt horizon by optimizer. {items}."
        if band := next(filter(None, selection.more["bands"]), None):
            whose = study.called("optimizer", band["optimizer"])
            ends = (number(band[end], 0, signed=True) for end in ("low_pp", "high_pp"))
            caption += f" Grey band: the range the paper gives for {whose} (its Figure 2)."
            alt += f" The paper's {whose} range is {' to '.join(ends)} pp."
        return caption, alt


def _band(study: StudyFacts, keys: Mapping[str, str]) -> dict[str, Any] | None:
    """The paper's range, which is of one condition only."""
    paper = study.paper(keys, study.main)
    same = ("architecture", "precision", "split")
    fits = paper is not None and all(keys[key] == paper.horizon[key] for key in same)
    return paper.horizon if fits else None


def _lines(axes: Axes, rows: pd.DataFrame, looks: dict[str, Mark]) -> None:
    horizons = np.sort(rows["horizon_steps"].unique())
    # Side by side, so that the intervals of one horizon do not hide each other.
    apart = 0.05 * np.min(np.diff(horizons)) if len(horizons) > 1 else 100.0
    here = [name for name in looks if (rows["optimizer"] == name).any()]
    for i, name in enumerate(here):
        line = rows[rows["optimizer"] == name].sort_values("horizon_steps")
        x = line["horizon_steps"] + apart * (i - (len(here) - 1) / 2)
        ends = line["low_pp"], line["high_pp"]
        bars(axes, x, line["gap_pp"], *ends, looks[name], linestyle=looks[name].line, elinewidth=1)
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.set_xticks(horizons)
    if rows["gap_pp"].isna().all():
        say(axes, "no gap: diverged")
