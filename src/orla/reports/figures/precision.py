"""Gaps by precision: how far numeric configurations move them."""

from collections.abc import Collection
from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.study.keys import FORMATS

_HOLLOW = {"markerfacecolor": "white"}


class ScalingBci(
    Figure, name="scaling_bci", label="Gaps by precision", chapter="precision", order=10
):
    """A plot a floating-point format, an optimizer a place: rates carried over, and own ones."""

    caption = (
        "Held-out gap in pp, {main}, by floating-point format and optimizer: {title}. Bars and "
        "their marks: the precisions of a format at the rates that {rates_of} chose. Hollow: each "
        "at rates of its own. Grey: the margin of {margin}. n = {n}.{note}"
    )
    by = ("format", "optimizer")
    shows: ClassVar = {"gap_pp": "{} pp"}

    def select(self, numerics: pd.DataFrame, *, study: StudyFacts) -> Selection:
        over = ("precision", "optimizer")
        chosen = plots.most(where(numerics, choice="rolling"), study, over=over)
        rows = chosen.rows.assign(format=lambda rows: rows["precision"].map(study.format))
        fits = len(rows) and study.paper(chosen.keys, study.main)
        more = {"rates_of": study.rates_of, "paper": bool(fits)}
        more["note"] = " In another colour beside them: the paper's." if fits else ""
        return Selection(rows.dropna(subset="gap_pp"), chosen.title, chosen.keys, more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, looks = selection.rows, plots.looks(selection.rows, "precision", study)
        optimizers = study.names(rows, "optimizer")
        formats = {name: name for name in FORMATS[::-1] if (rows["format"] == name).any()}
        size = {"row_in": 2.0, "around_in": 1.2, "width_in": style.TWO_COLUMNS_IN}
        figure, axes_of = plots.facets(formats, ylabel="Gap (pp)", **size)
        for name, axes in axes_of.items():
            band = plots.margin(axes, study)
            axes.set_xticks(range(len(optimizers)), optimizers.values())
            for x, optimizer in enumerate(optimizers):
                here = where(rows, format=name, optimizer=optimizer)
                carried = here[here["rates_of"] == study.rates_of]
                own = here[here["rates_of"] == here["precision"]]
                _bar(axes, x - 0.1, carried["gap_pp"], style.INK)
                for at, some, face in ((x - 0.1, carried, {}), (x + 0.1, own, _HOLLOW)):
                    for precision, gap in zip(some["precision"], some["gap_pp"], strict=True):
                        mark = {"color": looks[precision].color, "markersize": 4, "zorder": 3}
                        axes.plot(at, gap, looks[precision].marker, **mark | face)
                for at, table in ((x - 0.3, "precision_grid"), (x + 0.3, "precision_best")):
                    keys = {"optimizer": optimizer, "precision": name}
                    keys |= {"split": selection.keys["split"]}
                    theirs = load().table(table) if selection.more["paper"] else ()
                    gaps = [row["gap_pp"] for row in theirs if keys.items() <= row.items()]
                    _bar(axes, at, gaps if at < x else (), style.RING)
                    axes.plot([at] * len(gaps), gaps, **plots.PAPERS, markersize=3)
        handles = [*plots.keys_of("precision", looks, study), band]
        handles.append(plots.key("at its own rates", marker="o", markersize=4, **_HOLLOW))
        theirs = plots.key("the paper's", **plots.PAPERS, markersize=3)
        plots.legend(figure, handles + [theirs] * selection.more["paper"])
        return figure


def _bar(axes: Axes, x: float, gaps: Collection[float], color: str) -> None:
    if len(gaps):
        axes.plot([x, x], [min(gaps), max(gaps)], color=color, linewidth=3, alpha=0.3, zorder=1)
