"""Where in the recurrent weights the past gradient's first direction lies."""

from __future__ import annotations

import numpy as np
import pandas as pd

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.profiles import Chosen, chosen, grid, in_one_line, panels
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

    def draw(self, profile: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        found = _found(profile, study)
        shown = list(panels(found, study))
        most = found.rows["value"].abs().max() if shown else 1.0
        grid_of = grid(
            len(shown), study.of(found.rows), found.title, paths, row_in=1.85, share=False
        )
        with grid_of as (figure, axes):
            image = None
            for here, (title, _, rows) in zip(axes, shown, strict=True):
                here.set_title(title)
                image = here.imshow(
                    _map(rows, study), vmin=0, vmax=most, cmap="magma_r", interpolation="nearest"
                )
                here.set_xticks([])
                here.set_yticks([])
            if image is not None:
                bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=25)
                bar.set_label("|u₁|")
                figure.supxlabel("from unit", fontsize=style.FONT_PT)
                figure.supylabel("to unit", fontsize=style.FONT_PT)

    def ran(self, profile: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _found(profile, study).rows.empty

    def describe(self, profile: pd.DataFrame, *, study: StudyFacts) -> Caption:
        found = _found(profile, study)
        seen = "; ".join(
            f"{in_one_line(title)}: {number(100 * _tenth(rows['value']), 0)} %"
            for title, _, rows in panels(found, study)
        )
        seed = f", seed {found.rows['seed'].iloc[0]}" if len(found.rows) else ""
        return self.captioned(
            study.of(found.rows),
            "Absolute numbers of u_1, the first left singular vector of the matrix of past "
            "gradients, on the recurrent weights (rows: the unit that is moved; columns: the unit "
            f"that it comes from), {found.title}{seed}.",
            "Heat maps, a panel an optimizer and split. Share of the squared norm there in the "
            f"largest tenth of the numbers. {seen or 'No data'}.",
        )


def _found(profile: pd.DataFrame, study: StudyFacts) -> Chosen:
    found = chosen(profile, ("u1_map",), study)
    if found.rows.empty:
        return found
    # Not every condition has the same seeds.
    by = [found.rows[name] for name in ("split", "optimizer")]
    first = found.rows["seed"].groupby(by).transform("min")
    return found._replace(rows=found.rows[found.rows["seed"] == first])


def _map(rows: pd.DataFrame, study: StudyFacts) -> np.ndarray:
    """(units to, units from) absolute values; numbers that are missing are NaN."""
    units = study.options("architecture", rows["architecture"].iloc[0]).get("hidden", HIDDEN)
    values = np.full(-(-(int(rows["index"].max()) + 1) // units) * units, np.nan)
    values[rows["index"].to_numpy(int)] = rows["value"].abs().to_numpy(float)
    return values.reshape(-1, units)


def _tenth(values: pd.Series) -> float:
    squares = np.sort(values.to_numpy(float) ** 2)[::-1]
    return float(squares[: -(-len(squares) // 10)].sum() / squares.sum())
