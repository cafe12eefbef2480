"""The gap under every choice: a specification curve with the grid of choices below."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import say, span
from orla.reports.multiverse import CHOICES, of_what, optimizers, specifications, varied
from orla.reports.study import StudyFacts


class Multiverse(
    Figure,
    name="multiverse",
    label="The gap under every choice",
    chapter="choices",
    order=10,
    needs=("multiverse",),
):
    """The gap of Adam and of LARS over metric, cadence, split, freezing point and pretraining."""

    def draw(self, multiverse: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows = _known(multiverse, study)
        shown = optimizers(rows, study)
        choices = varied(rows[rows["optimizer"].isin(shown)], study)
        lines = sum(len(values) for values in choices.values()) + 0.6 * len(choices)
        grid_height = max(0.145 * lines, 0.3)
        with style.house():
            figure, grid = plt.subplots(
                2,
                max(len(shown), 1),
                figsize=(style.TWO_COLUMNS_IN, 2.5 + grid_height),
                squeeze=False,
                sharey="row",
                sharex="col",
                height_ratios=[1.8, grid_height],
                layout="constrained",
            )
            if not shown:
                say(grid[0, 0], "not run")
                grid[1, 0].set_visible(False)
            looks = study.marks("optimizer", study.present(rows, "optimizer"))
            for (curve, below), optimizer in zip(grid.T, shown, strict=False):
                own = rows[rows["optimizer"] == optimizer]
                _curve(curve, own, looks[optimizer], study)
                _choices(below, own, choices, looks[optimizer].color)
                curve.set_title(f"{study.called('optimizer', optimizer)}, n = {len(own)}")
            grid[0, 0].set_ylabel("Gap (pp; R² and MSE:\nhundredths)")
            if shown:
                figure.supxlabel("Specifications, by gap", fontsize=style.FONT_PT)
            style.heading(figure, study.of(rows).simulated)
            style.save(figure, *paths)

    def describe(self, multiverse: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows = _known(multiverse, study)
        of = of_what(rows, multiverse, study)
        seen = "; ".join(_seen(rows[rows["optimizer"] == name], study.called("optimizer", name))
                         for name in optimizers(rows, study))  # fmt: skip
        return self.captioned(
            study.of(rows),
            f"The gap of full minus immediate{of} under every choice, from the least to the "
            "greatest. Recovery in pp, R² and MSE (sign reversed) in hundredths, each with its "
            "95 % t interval over seeds of one pair; grey band: the margin of "
            f"±{study.margin_pp:g} pp. Below, the choices that each gap is made with.",
            f"Specification curves with a grid of choices. {seen or 'No data'}.",
        )


def _known(multiverse: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
    rows = specifications(multiverse, study)
    return rows[rows["gap"].notna()]


def _seen(rows: pd.DataFrame, name: str) -> str:
    positive = int((rows["low"] > 0).sum())
    negative = int((rows["high"] < 0).sum())
    return (
        f"{name}: {span(rows['gap'], signed=True)} over {len(rows)} specifications, {positive} "
        f"wholly above zero and {negative} wholly below"
    )


def _curve(axes: Axes, rows: pd.DataFrame, look: Mark, study: StudyFacts) -> None:
    axes.axhspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
    style.zero_line(axes)
    x, gap = np.arange(len(rows)), rows["gap"].to_numpy(float)
    known = rows[["low", "high"]].notna().all(axis=1).to_numpy()
    ends = rows[["low", "high"]].to_numpy(float)
    axes.vlines(x[known], ends[known, 0], ends[known, 1], color=look.color, linewidth=0.8)
    axes.scatter(x, gap, s=7, color=look.color, marker=look.marker, linewidths=0, zorder=3)
    axes.tick_params(axis="x", length=0, labelbottom=False)


def _choices(axes: Axes, rows: pd.DataFrame, choices: dict[str, list[str]], color: str) -> None:
    x, y = np.arange(len(rows)), 0.0
    places, labels = [], []
    for name, values in choices.items():
        for i, value in enumerate(values):
            own = x[(rows[name] == value).to_numpy()]
            axes.scatter(own, np.full(len(own), y), s=9, marker="|", color=color, linewidths=0.9)
            places.append(y)
            labels.append(f"{CHOICES[name]}:  {value}" if i == 0 else value)
            y -= 1
        axes.axhline(y + 0.2, color=style.BAND, linewidth=0.8)
        y -= 0.6
    axes.set_yticks(places, labels)
    axes.set_ylim(y + 0.6, 0.8)
    axes.tick_params(axis="both", length=0, labelbottom=False)
    axes.spines[["left", "bottom"]].set_visible(False)
