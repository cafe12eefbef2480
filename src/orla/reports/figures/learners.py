"""Accuracy of learners' gradients against what they carry."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter

from orla.reports import style
from orla.reports.alignment import against_exact, ordered, references
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import bars, count_range, facets, keys_of, legend, most, where
from orla.reports.numbers import memory, number
from orla.reports.study import StudyFacts

_ACROSS = 3
_ENDS = ("cosine_t95_low", "cosine_t95_high")


class Learners(
    Figure,
    name="learners",
    label="Accuracy of gradients against their cost",
    chapter="breadth",
    order=10,
    needs=("learners",),
):
    """Cosine with the exact gradient against the bytes carried, a panel a network.

    Of several tasks, drivers and optimizers the one with most networks is drawn.
    """

    def select(self, learners: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return most(against_exact(learners, study), study, over=["architecture"])

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, networks = selection.rows, study.names(selection.rows, "architecture")
        points = rows[rows["cosine"].notna()]
        looks = study.marks("learner", ordered(points["observer"], study))
        across = min(len(networks), _ACROSS)
        figure, plots = facets(
            networks,
            row_in=1.8,
            around_in=0.9 + 0.16 * -(-len(looks) // across),
            xlabel="Bytes carried a model",
            ylabel=f"Cosine with\n{references(rows, study)}",
            wrap=across,
        )
        for network, axes in plots.items():
            style.zero_line(axes)
            axes.axhline(1, color=style.QUIET, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0)
            for row in where(points, {"architecture": network}).to_dict("records"):
                ends = [row[end] for end in _ENDS]
                look = looks[row["observer"]]
                bars(axes, row["carried_bytes"], row["cosine"], *ends, look, zorder=3)
        _bytes_axis(axes, rows["carried_bytes"].to_numpy(float))
        lowest = rows[["cosine", _ENDS[0]]].min(axis=None)
        axes.set_ylim(min(-0.05, max(-1.1, lowest - 0.08)), 1.1)
        legend(figure, keys_of("learner", looks, study), ncols=across, handlelength=1)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        items = "; ".join(
            f"{name}: "
            + ", ".join(
                f"{study.called('learner', row['observer'])} {number(row['cosine'], 2)} at "
                f"{memory(row['carried_bytes'])}"
                for row in where(rows, {"architecture": network}).to_dict("records")
            )
            for network, name in study.names(rows, "architecture").items()
        )
        return (
            f"Cosine of each learner's gradient with that of {references(rows, study)} against the "
            f"bytes that it holds of one model between updates, {selection.title}. Mean over "
            f"updates, then over seeds (n = {count_range(rows['n_seeds'])}); bars: 95 % t interval "
            "over seeds of one pair. A learner that carries nothing stands at 0, left of the "
            "logarithmic axis.",
            f"Scatter plots of cosine against bytes, a panel a network. {items}.",
        )


def _bytes_axis(axes: Axes, carried: np.ndarray) -> None:
    """A logarithmic axis with a place for 0, which is left of it."""
    some = carried[carried > 0]
    low, high = (some.min(), some.max()) if some.size else (1e3, 1e3)
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high) + 0.1))
    step = max(1, -(-(last - first) // 4))
    axes.set_xscale("symlog", linthresh=10.0**first, linscale=0.7)
    ticks = [0.0] * bool((carried == 0).any())
    ticks += [10.0**power for power in range(first, last + 1, step)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: memory(value).replace(".0", "") if value else "0")
    )
    axes.set_xlim(-(10.0**first) / 3 if ticks[0] == 0 else 10.0**first / 1.5, 2 * 10.0**last)
