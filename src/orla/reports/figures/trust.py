"""How far to trust a result: power, worlds with a known answer, every choice."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.multiverse import CHOICES, of_what, optimizers, specifications, varied
from orla.reports.numbers import MISSING, interval, is_missing, number
from orla.reports.study import StudyFacts, where
from orla.reports.tables.trust import sample

# Colour and hatch of each answer: they differ in grey too.
_ANSWERS = {
    "right": ("#0072b2", ""),
    "wrong": ("#d55e00", "xxxx"),
    "undecided": ("#d9d9d9", ""),
    "untestable": ("#ffffff", "////"),
}
_CURVE, _CHOICES = "curve", "choices"


class Power(Figure, name="power", label="Power of each registration", chapter="trust", order=20):
    """Power against the true gap at the scatter seen, a panel a registration."""

    caption = (
        "Probability that a registration's claim is supported, against the true gap, at the "
        "registered number of pairs or seeds and the scatter (sd) that was seen. Dashes: 80 %."
    )
    by = ("registration",)
    shows: ClassVar = {"supported": "power {}", "n_80": "80 % at n {}"}

    def select(self, power: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(power)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        groups = selection.rows.groupby("registration", sort=False)
        titled = [(f"{name}\n{sample(rows.iloc[0])}", rows) for name, rows in groups]
        layout = {"row_in": 1.55, "around_in": 0.6, "x": "plot", "wrap": 3}
        layout |= {"xlabel": "True gap (unit of the title)", "ylabel": "Power (%)"}
        figure, panels = plots.titled(titled, **layout)
        for axes, rows in panels:
            axes.axhline(80, color=style.QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)
            rows = rows.sort_values("true_gap")
            line = {"color": style.INK, "marker": "o", "markersize": 3}
            axes.plot(rows["true_gap"], 100 * rows["supported"], **line)
        axes.set(ylim=(-4, 104), yticks=[0, 20, 40, 60, 80, 100])
        return figure


def _gap(gap: float) -> str:
    return MISSING if is_missing(gap) else f"{gap:+.3g}"


class TruthControls(
    Figure, name="truth_controls", label="Verdicts on known answers", chapter="trust", order=10
):
    """Shares of right, wrong, undecided and untestable verdicts, a bar a world and claim."""

    caption = (
        "Verdicts on made-up studies whose true gap is known, through the same rules to the same "
        "judge. At the right, the share of wrong verdicts with its 95 % interval over made-up "
        "studies. Untestable is the right answer where nothing drifts."
    )
    by = ("world",)

    def select(self, truth_controls: pd.DataFrame, *, study: StudyFacts) -> Selection:
        worlds = [
            f"{row['world']}, true gap {_gap(row['true_gap'])}: {row['claim']}"
            for row in truth_controls.to_dict("records")
        ]
        return Selection(truth_controls.assign(world=worlds).reset_index(drop=True))

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        layout = {"row_in": 0.34 * len(rows), "width_in": style.TWO_COLUMNS_IN}
        figure, axes = plots.single(around_in=1.3, **layout)
        decided = rows["supported"] + rows["falsified"]
        counts = [rows[name].clip(upper=decided) for name in ("right", "wrong")]
        counts += [rows["inconclusive"], rows["untestable"]]
        left = 0.0
        for (answer, (color, hatch)), n in zip(_ANSWERS.items(), counts, strict=True):
            share = 100 * n / rows["studies"]
            look = {"color": color, "hatch": hatch, "edgecolor": style.INK, "linewidth": 0.5}
            axes.barh(rows.index, share, height=0.62, left=left, label=answer, **look)
            left += share
        for y in rows.index:
            place = {"xy": (1.01, y), "xycoords": ("axes fraction", "data"), "va": "center"}
            axes.annotate(self.seen(rows.loc[[y]]), **place)
        plots.row_labels(axes, rows["world"])
        axes.set(xlim=(0, 100), xlabel="Share of made-up studies (%)")
        plots.legend(figure, axes.containers)
        return figure

    def seen(self, rows: pd.DataFrame) -> str:
        [row] = rows.to_dict("records")
        ends = interval(100 * row["wrong_low"], 100 * row["wrong_high"])
        return f"{number(100 * row['wrong_share'])} % wrong {ends}, n = {int(row['studies'])}"


class Multiverse(
    Figure, name="multiverse", label="The gap under every choice", chapter="choices", order=10
):
    """The gap of Adam and of LARS over metric, cadence, split, freezing point and pretraining."""

    caption = (
        "The gap of full minus immediate{of} under every choice, from the least to the greatest. "
        "Recovery in pp, R² and MSE (sign reversed) in hundredths, each with its 95 % t interval "
        "over seeds of one pair; grey band: the margin of {margin}. Below, the choices that each "
        "gap is made with."
    )
    by = ("optimizer",)
    shows: ClassVar = {"gap": "{}"}

    def select(self, multiverse: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = specifications(multiverse, study)
        rows = rows[rows["gap"].notna()]
        rows = rows[rows["optimizer"].isin(optimizers(rows, study))]
        return Selection(rows, more={"of": of_what(rows, multiverse, study)})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, looks = selection.rows, plots.looks(selection.rows, "optimizer", study)
        choices, n = varied(rows), rows["optimizer"].value_counts()
        lines = sum(map(len, choices.values())) + 0.6 * len(choices)
        heights = {_CURVE: 1.8, _CHOICES: max(0.145 * lines, 0.3)}
        names = study.names(rows, "optimizer").items()
        titles = {name: f"{label}, n = {n[name]}" for name, label in names}
        layout = {"around_in": 0.7, "x": "column", "y": "row", "xlabel": "Specifications, by gap"}
        figure, axes_of = plots.facets(titles, dict.fromkeys(heights, ""), row_in=heights, **layout)
        for (part, name), axes in axes_of.items():
            axes.tick_params(axis="x", length=0, labelbottom=False)
            gaps, look = where(rows, optimizer=name), looks[name]
            if part == _CURVE:
                plots.margin(axes, study)
                x, thin = np.arange(len(gaps)), {"capsize": 0, "elinewidth": 0.8, "markersize": 2.6}
                plots.bars(axes, gaps, x, "gap", ("low", "high"), look, markeredgewidth=0, **thin)
            else:
                _choices(axes, gaps, choices, look.color)
        next(iter(axes_of.values())).set_ylabel("Gap (pp; R² and MSE:\nhundredths)")
        return figure


def _choices(axes: Axes, rows: pd.DataFrame, choices: Mapping[str, list[str]], color: Any) -> None:
    """A line a value of a choice, with a tick for each specification that has it."""
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
