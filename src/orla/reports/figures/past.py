"""The past gradient along a stream: its singular values, its turns, where its direction lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullLocator

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import PLAIN, count_range, facets, key, legend, most, where
from orla.reports.numbers import number
from orla.reports.paper_rows import full_learner, papers_structure, plain
from orla.reports.study import HIDDEN, StudyFacts

_TOGETHER = ("task", "pair", "architecture", "precision", "learner")
_PANEL = ["split", "optimizer"]
_MOST_PANELS = 12
# Characters of a panel's title in one line.
_LONGEST = 22
_SPECTRA = {
    "singular_past": ("G_past", {"color": "#7a2a00", "linestyle": "-"}),
    "singular_immediate": ("G_imm", {"color": "#3f8fbf", "linestyle": (0, (3, 1.2))}),
}
# Rounding: a smaller share is no singular value.
_LEAST = 1e-6


class _Profile(Figure):
    """A figure of some quantities of `profile`, a panel an optimizer and split."""

    quantities: ClassVar[tuple[str, ...]] = ()

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        """Some quantities along one learner of one network, all optimizers and splits.

        The learner is the one that the paper measures with, where it ran; then the network and
        task with most panels. Of more panels than a page holds those of the paper's optimizers
        are drawn.
        """
        rows = plain(profile[profile["quantity"].isin(self.quantities)])
        rows = rows[rows["value"].notna()]
        if (full := rows["learner"] == full_learner()).any():
            rows = rows[full]
        selection = most(rows, study, over=_PANEL, keys=_TOGETHER)
        rows, keys = selection.rows, selection.keys
        papers = rows["optimizer"].isin({row["optimizer"] for row in papers_structure()})
        if papers.any() and len(rows[_PANEL].drop_duplicates()) > _MOST_PANELS:
            rows = rows[papers]
        title = ", ".join(study.called(kind, value) for kind, value in keys.items() if value != "")
        return Selection(rows, title)


class PastSpectra(
    _Profile,
    name="past_spectra",
    label="Singular values of past and immediate gradients",
    chapter="mechanism",
    order=20,
    needs=("profile",),
):
    """Every singular value over the sum of all, a panel an optimizer and split, a line a seed."""

    quantities = tuple(_SPECTRA)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        labels = {"xlabel": "Singular value,\nlargest first", "ylabel": "Share of their sum"}
        figure, panels = _plots(selection.rows, study, row_in=1.7, **labels)
        for axes, _, rows in panels:
            for quantity, (_, look) in _SPECTRA.items():
                values = _by_seed(rows, quantity)
                axes.plot(values.index, values.where(values > _LEAST), linewidth=0.8, **look)
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(PLAIN)
        axes.xaxis.set_minor_locator(NullLocator())
        legend(figure, [key(label, **look) for label, look in _SPECTRA.values()])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        def first(rows: pd.DataFrame, quantity: str) -> str:
            return number(where(rows, {"quantity": quantity, "index": 0})["value"].mean(), 2)

        firsts = _seen(
            selection.rows, study, lambda panel: " and ".join(first(panel, q) for q in _SPECTRA)
        )
        return (
            "Singular values of the matrices of past gradients (G_past) and of immediate ones "
            f"(G_imm), a column a window, each over the sum of all, {selection.title}. Thin lines: "
            f"seeds (n = {_networks(selection.rows)}).",
            "Lines on logarithmic axes, a panel an optimizer and split. First values of G_past and "
            f"G_imm, means over seeds. {firsts}.",
        )


class PastTurns(
    _Profile,
    name="past_turns",
    label="Turns of the past gradient from window to window",
    chapter="mechanism",
    order=30,
    needs=("profile",),
):
    """Cosine of the past gradients of consecutive windows, a panel an optimizer and split."""

    quantities = ("turn_cosine",)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        looks = study.marks("optimizer", study.present(selection.rows, "optimizer"))
        labels = {"xlabel": "Window", "ylabel": "Cosine with\nthe next window's"}
        figure, panels = _plots(selection.rows, study, row_in=1.45, **labels)
        for axes, optimizer, rows in panels:
            values = _by_seed(rows, *self.quantities)
            style.zero_line(axes)
            axes.plot(values, color=style.QUIET, linewidth=0.4)
            axes.plot(values.mean(axis=1), color=looks[optimizer].color, linewidth=1.5)
        axes.set(ylim=(-1.05, 1.05), yticks=[-1, 0, 1])
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        means = _seen(selection.rows, study, lambda panel: number(panel["value"].mean(), 2))
        return (
            "Cosine of the past gradient of a window and that of the next: 1 where its direction "
            f"stays, 0 where it turns by a right angle, {selection.title}. Thin grey lines: seeds "
            f"(n = {_networks(selection.rows)}); thick: their mean.",
            "Lines by window, a panel an optimizer and split. Means over windows and seeds. "
            f"{means}.",
        )


class PastMap(
    _Profile,
    name="past_map",
    label="The past gradient's first direction on the recurrent weights",
    chapter="mechanism",
    order=40,
    needs=("profile",),
):
    """|u_1| on W_hh as a map, a panel an optimizer and split, of the first seed."""

    quantities = ("u1_map",)

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        """The map of the first seed: not every condition has the same seeds."""
        selection = super().select(profile, study=study)
        rows = selection.rows
        first = rows["seed"].groupby([rows[name] for name in _PANEL]).transform("min")
        return Selection(rows[rows["seed"] == first], selection.title)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        figure, panels = _plots(rows, study, row_in=1.85, x="plot", y="plot")
        look = {"vmin": 0, "vmax": rows["value"].abs().max(), "cmap": "magma_r"}
        for axes, _, panel in panels:
            image = axes.imshow(_map(panel, study), interpolation="nearest", **look)
            axes.set(xticks=[], yticks=[])
        bar = figure.colorbar(image, ax=[axes for axes, _, _ in panels], shrink=0.8, aspect=25)
        bar.set_label("|u₁|")
        figure.supxlabel("from unit", fontsize=style.FONT_PT)
        figure.supylabel("to unit", fontsize=style.FONT_PT)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows = selection.rows
        shares = _seen(rows, study, lambda panel: f"{number(100 * _tenth(panel['value']), 0)} %")
        return (
            "Absolute numbers of u_1, the first left singular vector of the matrix of past "
            "gradients, on the recurrent weights (rows: the unit that is moved; columns: the unit "
            f"that it comes from), {selection.title}, seed {rows['seed'].iloc[0]}.",
            "Heat maps, a panel an optimizer and split. Share of the squared norm there in the "
            f"largest tenth of the numbers. {shares}.",
        )


def _panels(rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Title, optimizer and rows of each split and optimizer."""
    for (split, optimizer), panel in rows.groupby(_PANEL, sort=False):
        title = f"{study.called('optimizer', optimizer)}, {study.called('split', split)}"
        yield title, optimizer, panel


def _plots(
    rows: pd.DataFrame, study: StudyFacts, **layout: Any
) -> tuple[Canvas, list[tuple[Axes, str, pd.DataFrame]]]:
    """A plot for each panel, with its optimizer and rows, four in a row."""
    each = list(_panels(rows, study))
    short = [t if len(t) <= _LONGEST else t.replace(", ", ",\n") for t, _, _ in each]
    wide = {"around_in": 0.9, "width_in": style.TWO_COLUMNS_IN} | layout
    figure, axes = facets(dict(enumerate(short)), **wide)
    return figure, [(axes[i], *panel[1:]) for i, panel in enumerate(each)]


def _seen(rows: pd.DataFrame, study: StudyFacts, word: Callable[[pd.DataFrame], str]) -> str:
    return "; ".join(f"{title}: {word(panel)}" for title, _, panel in _panels(rows, study))


def _networks(rows: pd.DataFrame) -> str:
    """How many networks a panel has."""
    return count_range(rows.groupby(_PANEL)["seed"].nunique())


def _by_seed(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The rows of one quantity, its values from 1 on in a column for each seed."""
    values = where(rows, {"quantity": quantity})
    values = values.pivot(index="index", columns="seed", values="value")
    return values.set_axis(values.index + 1)


def _map(rows: pd.DataFrame, study: StudyFacts) -> np.ndarray:
    """(units to, units from) absolute values; numbers that are missing are NaN."""
    units = study.options("architecture", rows["architecture"].iloc[0]).get("hidden", HIDDEN)
    values = np.full(-(-(int(rows["index"].max()) + 1) // units) * units, np.nan)
    values[rows["index"].to_numpy(int)] = rows["value"].abs().to_numpy(float)
    return values.reshape(-1, units)


def _tenth(values: pd.Series) -> float:
    squares = np.sort(values.to_numpy(float) ** 2)[::-1]
    return float(squares[: -(-len(squares) // 10)].sum() / squares.sum())
