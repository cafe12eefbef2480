"""The mechanism: ratio and gap, and the past gradient's singular values, turns and direction."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.paper import load
from orla.reports.study import HIDDEN, StudyFacts, where
from orla.study.keys import DEFAULTS

_RATIO = "‖ΔW_hh‖/‖ΔW_out‖"
_MOST_SPLITS = 3
_FIGURE_KEYS = ("task", "pair", "architecture", "precision", "learner")
_MOST_PANELS = 12
_SPECTRA = {
    "singular_past": ("G_past", {"color": "#7a2a00", "linestyle": "-"}),
    "singular_immediate": ("G_imm", {"color": "#3f8fbf", "linestyle": (0, (3, 1.2))}),
}
# Rounding: a smaller share is no singular value.
_LEAST = 1e-6


class RatioGapPlane(
    Figure, name="ratio_gap_plane", label="Update ratio and gap", chapter="mechanism", order=10
):
    """Both with their intervals, a panel a split; of several networks that of most optimizers."""

    caption = f"""Mean over updates of {_RATIO} under the comparison's first learner, and the
    held-out recovery gap of {{main}}, {{title}}, by optimizer. Bars: 95 % t intervals
    over seeds (n = {{n}}).{{note}}"""
    by = ("optimizer", "split")
    shows: ClassVar = {"update_ratio": "ratio {}", "gap_pp": "gap {} pp"}

    def select(self, ratio_gap: pd.DataFrame, *, study: StudyFacts) -> Selection:
        finite_rows = ratio_gap.dropna(subset=["update_ratio", "gap_pp"])
        selection = plots.largest_condition(
            finite_rows, study, over=["optimizer"], beside=["split"]
        )
        splits = selection.rows.drop_duplicates("split").to_dict("records")
        paper = [
            row
            for row in load().table("ratio_gap")
            if any(plots.matches_paper_condition(split, study, row) for split in splits)
        ]
        more = {"paper": paper, "note": " Hollow diamonds: the paper's Table 3." * bool(paper)}
        return Selection(selection.rows, selection.title, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, paper = selection.rows, selection.more["paper"]
        marks = plots.marks(rows, "optimizer", study)
        visible_rows = rows[rows["split"].isin(study.distinct(rows, "split")[:_MOST_SPLITS])]
        layout = {"row_height_in": 2, "margin_in": 1, "x": "plot", "width_in": style.TWO_COLUMNS_IN}
        layout |= {"xlabel": _RATIO, "ylabel": "Gap (pp)"}
        figure, panels = plots.panels(visible_rows, study, "split", **layout)
        place, ends = ("update_ratio", "gap_pp"), ("update_ratio_t95_low", "update_ratio_t95_high")
        for axes, points in panels:
            style.draw_zero_line(axes)
            for row in points.to_dict("records"):
                mark = marks[row["optimizer"]]
                lying = {"horizontal": True, "marker": "", "capsize": 0}
                plots.draw_error_bars(axes, row, *place, ends, mark, **lying)
                plots.draw_error_bars(axes, row, *place, ("t95_low_pp", "t95_high_pp"), mark)
            for row in (row for row in paper if row["split"] == points["split"].iloc[0]):
                mark = marks.get(row["optimizer"], Mark(style.QUIET, "D"))
                hollow = plots.PAPERS | {"color": mark.color, "markersize": 5}
                axes.plot(*(row[name] for name in place), **hollow)
            axes.set_xscale("log")
            plots.set_log_ticks(axes.xaxis)
        handles = plots.legend_handles("optimizer", marks, study)
        if paper:
            quiet = plots.PAPERS | {"color": style.QUIET}
            handles.append(plots.legend_handle("the paper's", **quiet))
        return plots.legend(figure, handles, ncols=1, loc="outside right center")


class _Profile(Figure):
    """A figure of some quantities of `profile`, a panel an optimizer and split."""

    quantities: ClassVar[tuple[str, ...]] = ()
    layout: ClassVar[Mapping[str, Any]] = {}
    by = ("optimizer", "split")
    shows: ClassVar = {"value": "{}"}

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        """Some quantities along one learner of one network, all optimizers and splits.

        The learner is the one that the paper measures with, where it ran. Of more panels than a
        page holds those of the paper's optimizers are drawn.
        """
        rows = where(profile[profile["quantity"].isin(self.quantities)], **DEFAULTS)
        rows = rows.dropna(subset="value")
        if (full := rows["learner"] == load().past_gradient_learner).any():
            rows = rows[full]
        rows, _, keys, _ = plots.largest_condition(rows, study, over=self.by, keys=_FIGURE_KEYS)
        papers = rows["optimizer"].isin({row["optimizer"] for row in load().table("structure")})
        if papers.any() and len(rows[[*self.by]].drop_duplicates()) > _MOST_PANELS:
            rows = rows[papers]
        title = ", ".join(study.called(kind, value) for kind, value in keys.items() if value != "")
        return Selection(rows, title)

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> plots.Panels:
        """A plot for each optimizer and split, with its rows, four abreast."""
        groups = rows.groupby([*self.by], sort=False)
        titles = [(", ".join(map(study.called, self.by, keys)), panel) for keys, panel in groups]
        wide = {"margin_in": 0.9, "width_in": style.TWO_COLUMNS_IN}
        return plots.titled_panels(titles, **wide | self.layout)


class PastSpectra(
    _Profile, name="past_spectra", label="Singular values", chapter="mechanism", order=20
):
    """Every singular value over the sum of all, a panel an optimizer and split, a line a seed."""

    caption = """Singular values of the matrices of past gradients (G_past) and of immediate ones
    (G_imm), a column a window, each over the sum of all (the first is top1, its square over the sum
    of squares the energy), {title}. Thin lines: seeds (n = {n})."""
    quantities = tuple(_SPECTRA)
    layout: ClassVar = {
        "row_height_in": 1.7, "xlabel": "Singular value,\nlargest first",
        "ylabel": "Share of their sum",
    }  # fmt: skip

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        figure, panels = self.panels(selection.rows, study)
        for axes, rows in panels:
            for quantity, (_, line) in _SPECTRA.items():
                values = _profile_by_seed(rows, quantity)
                axes.plot(values.index, values.where(values > _LEAST), linewidth=0.8, **line)
        axes.set(xscale="log", yscale="log")
        plots.set_log_ticks(axes.xaxis)
        handles = [plots.legend_handle(label, **line) for label, line in _SPECTRA.values()]
        return plots.legend(figure, handles)


class PastTurns(
    _Profile, name="past_turns", label="Turns of the past gradient", chapter="mechanism", order=30
):
    """Cosine of the past gradients of consecutive windows, a panel an optimizer and split."""

    caption = """Cosine of the past gradient of a window and that of the next: 1 where its direction
    stays, 0 where it turns by a right angle, {title}. Thin grey lines: seeds (n = {n}); thick:
    their mean."""
    quantities = ("turn_cosine",)
    layout: ClassVar = {
        "row_height_in": 1.45, "xlabel": "Window", "ylabel": "Cosine with\nthe next window's"
    }  # fmt: skip

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        marks = plots.marks(selection.rows, "optimizer", study)
        figure, panels = self.panels(selection.rows, study)
        for axes, rows in panels:
            values = _profile_by_seed(rows, *self.quantities)
            mark = marks[rows["optimizer"].iloc[0]]
            style.draw_zero_line(axes)
            axes.plot(values, color=style.QUIET, linewidth=0.4)
            axes.plot(values.mean(axis=1), color=mark.color, linewidth=1.5)
        axes.set(ylim=(-1.05, 1.05), yticks=[-1, 0, 1])
        return figure


class PastMap(
    _Profile, name="past_map", label="The past gradient's direction", chapter="mechanism", order=40
):
    """|u_1| on W_hh as a map, a panel an optimizer and split, of the first seed."""

    caption = """Absolute numbers of u_1, the first left singular vector of the matrix of past
    gradients, on the recurrent weights (rows: the unit that is moved; columns: the unit that it
    comes from), {title}, seed {seed}."""
    quantities = ("u1_map",)
    layout: ClassVar = {"row_height_in": 1.85, "x": "plot", "y": "plot"}

    def select(self, profile: pd.DataFrame, *, study: StudyFacts) -> Selection:
        """The map of the first seed: not every condition has the same seeds."""
        rows, title, *_ = super().select(profile, study=study)
        rows = rows[rows["seed"] == rows.groupby([*self.by])["seed"].transform("min")]
        return Selection(rows, title, more={"seed": rows["seed"].min()})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        figure, panels = self.panels(rows, study)
        image_options = {"vmin": 0, "vmax": rows["value"].abs().max(), "cmap": "magma_r"}
        units = study.options("architecture", rows["architecture"].iloc[0]).get("hidden", HIDDEN)
        for axes, panel in panels:
            # (units to, units from) absolute values; numbers that are missing are NaN.
            values = np.full(-(-(int(panel["index"].max()) + 1) // units) * units, np.nan)
            values[panel["index"].to_numpy(int)] = panel["value"].abs().to_numpy(float)
            image = axes.imshow(values.reshape(-1, units), interpolation="nearest", **image_options)
            axes.set(xticks=[], yticks=[])
        bar = figure.colorbar(image, ax=[axes for axes, _ in panels], shrink=0.8, aspect=25)
        bar.set_label("|u₁|")
        figure.supxlabel("from unit", fontsize=style.FONT_PT)
        figure.supylabel("to unit", fontsize=style.FONT_PT)
        return figure


def _profile_by_seed(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The rows of one quantity, its values from 1 on in a column for each seed."""
    values = where(rows, quantity=quantity)
    values = values.pivot(index="index", columns="seed", values="value")
    return values.set_axis(values.index + 1)
