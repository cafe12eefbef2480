"""The error over the stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import (
    THOUSANDS,
    count_range,
    facets,
    one_condition,
    say,
    span,
)
from orla.reports.numbers import number
from orla.reports.study import StudyFacts

_SMOOTHED_WINDOWS = 5


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

    def draw(self, traces: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows, title = one_condition(traces, study)
        looks = study.marks("learner", study.present(rows, "learner"))
        with style.house():
            figure, plots = facets(
                study.names(rows, "split"),
                study.names(rows, "optimizer"),
                row_in=1.8,
                around_in=1.0,
                along="row",
                drawn=set(zip(rows["split"], rows["optimizer"], strict=True)),
                xlabel="Step of the adapt part",
            )
            for (split, optimizer), axes in plots.items():
                facet = rows[(rows["split"] == split) & (rows["optimizer"] == optimizer)]
                _trace_facet(axes, facet, looks)
            if len(rows):
                next(iter(plots.values())).set_ylim(*_mse_limits(rows))
            figure.supylabel("Error", fontsize=style.FONT_PT)
            named = {study.called("learner", learner): look for learner, look in looks.items()}
            figure.legend(
                handles=_trace_legend(named), loc="outside lower center", ncols=3, columnspacing=1.2
            )
            style.heading(figure, study.of(rows).simulated, title)
            style.save(figure, *paths)

    def describe(self, traces: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows, title = one_condition(traces, study)
        by = ["learner", "optimizer", "split"]
        seeds = rows.groupby(by)["seed"].nunique() if len(rows) else []
        return self.captioned(
            study.of(rows),
            f"Error while learning, at the selected rates ({title}), per window of "
            f"{_window(rows)} steps, as a running mean over {_SMOOTHED_WINDOWS} windows. Lines: "
            "mean over the seeds still finite in that window; bands: ± 1 standard deviation "
            f"(n = {count_range(seeds)}); grey dashes: the frozen model.",
            "Grid of line plots, splits by optimizers. Error in the last window, "
            + ("; ".join(_ends(rows, study)) or "no data")
            + ".",
        )


def _window(rows: pd.DataFrame) -> str:
    """Steps between two points of a trace: its windows' length."""
    steps = np.unique(rows["step"])
    return f"{np.diff(steps, prepend=0).min():g}" if len(steps) else "0"


def _ends(rows: pd.DataFrame, study: StudyFacts) -> Iterator[str]:
    last = rows[rows["step"] == rows.groupby("split")["step"].transform("max")]
    for split, part in last.groupby("split", sort=False):
        ends = "; ".join(
            f"{study.called('learner', learner)} "
            + span(part.loc[part["learner"] == learner, "error"], digits=2)
            for learner in study.present(part, "learner")
        )
        frozen = number(part["frozen_error"].mean(), 2)
        yield f"{study.called('split', split)}: frozen {frozen}; {ends}"


def _trace_facet(axes: Axes, facet: pd.DataFrame, looks: dict[str, Mark]) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(THOUSANDS)
    if facet.empty:
        say(axes, "not run")
        return
    frozen = _smooth(facet.groupby("step")["frozen_error"].mean())
    axes.plot(
        frozen.index, frozen, color="#8f8f8f", linestyle=(0, (2, 1)), linewidth=1.1, zorder=1.5
    )
    for turn, (learner, look) in enumerate(looks.items()):
        if not (facet["learner"] == learner).any():
            continue
        models = facet[facet["learner"] == learner].pivot(
            index="step", columns="seed", values="error"
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
            markevery=_every(len(mean), turn, len(looks)),
            markeredgecolor="white",
            markeredgewidth=0.3,
        )


def _smooth(values: pd.DataFrame | pd.Series) -> pd.DataFrame | pd.Series:
    """Running mean over windows, because the stream varies more than learners differ."""
    return values.rolling(_SMOOTHED_WINDOWS, center=True, min_periods=1).mean()


def _every(count: int, turn: int, turns: int) -> tuple[int, int]:
    """Start and spacing of markers, staggered by learner so that none hides another."""
    apart = max(count // 4, 1)
    return turn * apart // turns, apart


def _mse_limits(rows: pd.DataFrame) -> tuple[float, float]:
    """Limits that hold all mean traces, but for those of models that diverge later."""
    means = rows.groupby(["learner", "optimizer", "split", "step"])["error"].mean().dropna()
    frozen = rows["frozen_error"]
    high = 1.1 * frozen.max()
    if len(means):
        high = max(high, min(1.05 * means.quantile(0.995), 2 * frozen.max()))
    low = min(means.quantile(0.01), frozen.min()) if len(means) else frozen.min()
    return 0.95 * low, high


def _trace_legend(looks: dict[str, Mark]) -> list[Line2D]:
    handles = [
        Line2D(
            [],
            [],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markersize=3,
            label=label,
        )
        for label, look in looks.items()
    ]
    handles.append(Line2D([], [], color="#8f8f8f", linestyle=(0, (2, 1)), label="frozen"))
    return handles
