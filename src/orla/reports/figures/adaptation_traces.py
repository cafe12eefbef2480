"""The error over the stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from orla.catalogue import Mark
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import (
    THOUSANDS,
    count_range,
    facets,
    key,
    keys_of,
    legend,
    most,
    say,
    span,
    where,
)  # fmt: skip
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_SMOOTHED_WINDOWS = 5
_FROZEN = {"color": "#8f8f8f", "linestyle": (0, (2, 1))}


class AdaptationTraces(
    Figure,
    name="adaptation_traces",
    label="Adaptation over the stream",
    chapter="drift",
    order=20,
    needs=("traces",),
):
    """MSE over the stream at the selected rates, one line a learner, frozen as reference.

    Of several conditions that of most learners and optimizers is drawn.
    """

    def select(self, traces: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return most(traces, study, over=["learner", "optimizer"], beside=["split"])

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        looks = study.marks("learner", study.present(rows, "learner"))
        figure, plots = facets(
            study.names(rows, "optimizer"),
            study.names(rows, "split"),
            row_in=1.8,
            around_in=1.0,
            x="row",
            xlabel="Step of the adapt part",
            ylabel="Error",
            cells=set(zip(rows["split"], rows["optimizer"], strict=True)),
        )
        for (split, optimizer), axes in plots.items():
            _panel(axes, where(rows, {"split": split, "optimizer": optimizer}), looks)
        axes.set_ylim(*_limits(rows))
        handles = keys_of("learner", looks, study, lines=True, markersize=3)
        legend(figure, [*handles, key("frozen", **_FROZEN)], ncols=3)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        window = np.diff(np.unique(rows["step"]), prepend=0).min()
        seeds = rows.groupby(["learner", "optimizer", "split"])["seed"].nunique()
        return (
            f"Error while learning, at the selected rates ({selection.title}), per window of "
            f"{window:g} steps, as a running mean over {_SMOOTHED_WINDOWS} windows. Lines: "
            "mean over the seeds still finite in that window; bands: ± 1 standard deviation "
            f"(n = {count_range(seeds)}); grey dashes: the frozen model.",
            "Grid of line plots, splits by optimizers. Error in the last window, "
            f"{'; '.join(_ends(rows, study))}.",
        )


def _ends(rows: pd.DataFrame, study: StudyFacts) -> Iterator[str]:
    last = rows[rows["step"] == rows.groupby("split")["step"].transform("max")]
    for split, part in last.groupby("split", sort=False):
        ends = "; ".join(
            f"{name} " + span(part.loc[part["learner"] == learner, "error"], digits=2)
            for learner, name in study.names(part, "learner").items()
        )
        frozen = number(part["frozen_error"].mean(), 2)
        yield f"{study.called('split', split)}: frozen {frozen}; {ends}"


def _panel(axes: Axes, rows: pd.DataFrame, looks: dict[str, Mark]) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)
    if rows.empty:
        say(axes, "not run")
        return
    frozen = _smooth(rows.groupby("step")["frozen_error"].mean())
    axes.plot(frozen, linewidth=1.1, zorder=1.5, **_FROZEN)
    for turn, (learner, look) in enumerate(looks.items()):
        models = where(rows, {"learner": learner})
        if models.empty:
            continue
        models = models.pivot(index="step", columns="seed", values="error")
        models = _smooth(models).where(models.notna())
        mean, spread = models.mean(axis=1), models.std(axis=1, ddof=1).fillna(0)
        band = {"color": look.color, "alpha": 0.13, "linewidth": 0}
        axes.fill_between(mean.index, mean - spread, mean + spread, **band)
        # Markers start one after another, so that none hides another.
        apart = max(len(mean) // 4, 1)
        axes.plot(
            mean, color=look.color, linestyle=look.line, linewidth=1.2, marker=look.marker,
            markersize=3, markevery=(turn * apart // len(looks), apart),
            markeredgecolor="white", markeredgewidth=0.3,
        )  # fmt: skip


def _smooth(values: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Running mean over windows, because the stream varies more than learners differ."""
    return values.rolling(_SMOOTHED_WINDOWS, center=True, min_periods=1).mean()


def _limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Limits that hold all mean traces, but for those of models that diverge later."""
    means = rows.groupby(["learner", "optimizer", "split", "step"])["error"].mean().dropna()
    frozen = rows["frozen_error"]
    low, high = frozen.min(), 1.1 * frozen.max()
    if len(means):
        high = max(high, min(1.05 * means.quantile(0.995), 2 * frozen.max()))
        low = min(means.quantile(0.01), low)
    return 0.95 * low, high
