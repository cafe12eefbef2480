"""The gap under every choice: a specification curve with the grid of choices below."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import facets, span, where
from orla.reports.multiverse import CHOICES, of_what, optimizers, specifications, varied
from orla.reports.study import StudyFacts

_CURVE, _CHOICES = "curve", "choices"


class Multiverse(
    Figure,
    name="multiverse",
    label="The gap under every choice",
    chapter="choices",
    order=10,
    needs=("multiverse",),
):
    """The gap of Adam and of LARS over metric, cadence, split, freezing point and pretraining."""

    def select(self, multiverse: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = specifications(multiverse, study)
        rows = rows[rows["gap"].notna()]
        each = {name: where(rows, {"optimizer": name}) for name in optimizers(rows, study)}
        return Selection(rows, more={"each": each, "of": of_what(rows, multiverse, study)})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        each = selection.more["each"]
        looks = study.marks("optimizer", study.present(selection.rows, "optimizer"))
        choices = varied(pd.concat(each.values()))
        lines = sum(map(len, choices.values())) + 0.6 * len(choices)
        figure, plots = facets(
            {name: f"{study.called('optimizer', name)}, n = {len(each[name])}" for name in each},
            {_CURVE: "", _CHOICES: ""},
            row_in={_CURVE: 1.8, _CHOICES: max(0.145 * lines, 0.3)},
            around_in=0.7,
            x="column",
            y="row",
            xlabel="Specifications, by gap",
        )
        for (part, name), axes in plots.items():
            axes.tick_params(axis="x", length=0, labelbottom=False)
            if part == _CURVE:
                _curve(axes, each[name], looks[name], study)
            else:
                _choices(axes, each[name], choices, looks[name].color)
        next(iter(plots.values())).set_ylabel("Gap (pp; R² and MSE:\nhundredths)")
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        items = "; ".join(
            f"{study.called('optimizer', name)}: {span(rows['gap'], signed=True)} over {len(rows)} "
            f"specifications, {(rows['low'] > 0).sum()} wholly above zero and "
            f"{(rows['high'] < 0).sum()} wholly below"
            for name, rows in selection.more["each"].items()
        )
        return (
            f"The gap of full minus immediate{selection.more['of']} under every choice, from the "
            "least to the greatest. Recovery in pp, R² and MSE (sign reversed) in hundredths, each "
            "with its 95 % t interval over seeds of one pair; grey band: the margin of "
            f"±{study.margin_pp:g} pp. Below, the choices that each gap is made with.",
            f"Specification curves with a grid of choices. {items}.",
        )


def _curve(axes: Axes, rows: pd.DataFrame, look: Mark, study: StudyFacts) -> None:
    axes.axhspan(-study.margin_pp, study.margin_pp, color=style.BAND, zorder=0)
    style.zero_line(axes)
    x = np.arange(len(rows))
    axes.vlines(x, rows["low"], rows["high"], color=look.color, linewidth=0.8)
    axes.scatter(x, rows["gap"], s=7, color=look.color, marker=look.marker, linewidths=0, zorder=3)


def _choices(axes: Axes, rows: pd.DataFrame, choices: dict[str, list[str]], color: str) -> None:
    y, places = 0.0, {}
    for name, values in choices.items():
        for value in values:
            x = np.flatnonzero(rows[name] == value)
            axes.scatter(x, np.full(len(x), y), s=9, marker="|", color=color, linewidths=0.9)
            places[y] = value if value != values[0] else f"{CHOICES[name]}:  {value}"
            y -= 1
        axes.axhline(y + 0.2, color=style.BAND, linewidth=0.8)
        y -= 0.6
    axes.set_yticks(list(places), places.values())
    axes.set_ylim(y + 0.6, 0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
