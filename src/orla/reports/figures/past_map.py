"""Where in the recurrent weights the past gradient's first direction lies."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.profiles import most_panels, plots, seen
from orla.reports.numbers import number
from orla.reports.study import HIDDEN, StudyFacts


class PastMap(
    Figure,
    name="past_map",
    label="The past gradient's first direction on the recurrent weights",
    chapter="mechanism",
    order=40,
    needs=("profile",),
):
    """|u_1| on W_hh as a map, a panel an optimizer and split, of the first seed."""

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        selection = most_panels(profile, ("u1_map",), study)
        rows = selection.rows
        # Not every condition has the same seeds.
        first = rows["seed"].groupby([rows["split"], rows["optimizer"]]).transform("min")
        return Selection(rows[rows["seed"] == first], selection.title)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        figure, panels = plots(rows, study, row_in=1.85, x="plot", y="plot")
        look = {"vmin": 0, "vmax": rows["value"].abs().max(), "cmap": "magma_r"}
        for axes, _, panel in panels:
            image = axes.imshow(_map(panel, study), interpolation="nearest", **look)
            axes.set(xticks=[], yticks=[])
        every = [axes for axes, _, _ in panels]
        bar = figure.colorbar(image, ax=every, shrink=0.8, aspect=25)
        bar.set_label("|u₁|")
        figure.supxlabel("from unit", fontsize=style.FONT_PT)
        figure.supylabel("to unit", fontsize=style.FONT_PT)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        shares = seen(rows, study, lambda panel: f"{number(100 * _tenth(panel['value']), 0)} %")
        return (
            "Absolute numbers of u_1, the first left singular vector of the matrix of past "
            "gradients, on the recurrent weights (rows: the unit that is moved; columns: the unit "
            f"that it comes from), {selection.title}, seed {rows['seed'].iloc[0]}.",
            "Heat maps, a panel an optimizer and split. Share of the squared norm there in the "
            f"largest tenth of the numbers. {shares}.",
        )


def _map(rows: pd.DataFrame, study: StudyFacts) -> np.ndarray:
    """(units to, units from) absolute values; numbers that are missing are NaN."""
    units = study.options("architecture", rows["architecture"].iloc[0]).get("hidden", HIDDEN)
    values = np.full(-(-(int(rows["index"].max()) + 1) // units) * units, np.nan)
    values[rows["index"].to_numpy(int)] = rows["value"].abs().to_numpy(float)
    return values.reshape(-1, units)


def _tenth(values: pd.Series) -> float:
    squares = np.sort(values.to_numpy(float) ** 2)[::-1]
    return float(squares[: -(-len(squares) // 10)].sum() / squares.sum())
