"""Gaps: two by two, pair by pair, and beside the margin of equivalence."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Mark
from orla.reports import estimates as common
from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import is_missing, number, sample_size
from orla.reports.paper import load
from orla.reports.study import CONDITION, StudyFacts, where
from orla.reports.tables.shared import with_paper_rows
from orla.reports.verdicts import weightiest_claim_condition
from orla.reports.words import NOT_RUN
from orla.results.estimands import ESTIMAND_WORDS
from orla.study.keys import SETTING

_T95 = ("t95_low_pp", "t95_high_pp")
_T90 = ("t90_low_pp", "t90_high_pp")
_NEW = ("prediction_low_pp", "prediction_high_pp")
_NO_ENDS = (np.nan, np.nan)
_GRADIENTS = {0.5: "immediate\ngradient", 2.5: "full\ngradient"}
_DIFFERENCES = ["gradient,\nper step", "gradient,\nper window"]
_DIFFERENCES += ["cadence,\nimmediate", "cadence,\nfull"]
# The two rows of plots of a network, by their y axis.
_KINDS = ("Recovery (%)", "Difference (pp)")
_SUMMARIES = ["mean of pairs", "new pair"]
_THEIRS = plots.PAPERS | {"markersize": 3.5, "color": style.QUIET}


class TwoByTwo(
    Figure, name="two_by_two", label="Gradient and cadence, two by two", chapter="cadence", order=10
):
    """Recoveries above differences, of the networks for which a difference has a meaning."""

    caption = f"""Recovery (%) of two gradients at two cadences, {{title}}: immediate (the past held
    fixed) and full, updated at each step and once a window. Below, what the gradient adds at one
    cadence (full − immediate), and what the cadence adds for one gradient (per window − per step).
    Bars: {common.OVER_SEEDS}; grey band: the margin of {{margin}}; dots: seeds, where there are at
    most {common.FEW_POINTS}.{{note}}"""
    by = ("architecture", "optimizer", "comparison")
    shows: ClassVar = {"gap_pp": "{} pp"}

    def select(
        self, estimates: pd.DataFrame, seed_gaps: pd.DataFrame, *, study: StudyFacts
    ) -> Selection | None:
        cells = common.find_square(study)
        rows = estimates[estimates["comparison"].isin(cells or ())]
        estimand = next((e for e in common.OF_HELDOUT if (rows["estimand"] == e).any()), "")
        rows, _, keys, _ = plots.largest_condition(
            where(rows, estimand=estimand), study, over=self.by
        )
        finite = rows.dropna(subset="gap_pp").to_dict("records")
        clear = {row["architecture"] for row in finite if common.recovery_has_meaning(row)}
        if not clear:
            return None
        pair = f"{keys['pair']}, " * (estimates["pair"].nunique() > 1)
        title = f"{pair}{study.called('split', keys['split'])}, {ESTIMAND_WORDS[estimand]}"
        networks = study.value_names(rows, "architecture").items()
        unclear = " and ".join(label for name, label in networks if name not in clear)
        note = f" Recovery has no meaning on {unclear}: see the table." if unclear else ""
        more = {"cells": cells, "seeds": seed_gaps, "note": note}
        return Selection(rows[rows["architecture"].isin(clear)], title, keys, more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, cells, seeds = selection.rows, selection.more["cells"], selection.more["seeds"]
        learners = cells.learners(study)
        marks = style.marks("learner", learners, study)
        networks = study.value_names(rows, "architecture").items()
        lines = {(name, kind): label for name, label in networks for kind in _KINDS}
        layout = {"row_height_in": 1.55, "margin_in": 1.1, "x": "row", "y": "row"}
        figure, axes_by_place = plots.facets(study.value_names(rows, "optimizer"), lines, **layout)
        for ((network, kind), optimizer), axes in axes_by_place.items():
            here = where(rows, architecture=network, optimizer=optimizer)
            gaps = {row["comparison"]: row for row in common.with_points(here, seeds)}
            axes.set_xlim(-0.6, 3.6)
            axes.tick_params(axis="x", length=0)
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(kind)
            if kind == _KINDS[0]:
                axes.set_xticks(list(_GRADIENTS), _GRADIENTS.values())
                for x, cell in enumerate(common.corner_rows(gaps, cells)):
                    row, side = cell or (None, "")
                    ends = f"{side}_low_percent", f"{side}_high_percent"
                    _draw_estimate(axes, row, x, f"{side}_percent", ends, marks[learners[x]])
            else:
                axes.set_xticks(range(len(cells)), _DIFFERENCES, rotation=90)
                plots.draw_margin(axes, study)
                for x, (name, marker) in enumerate(zip(cells, "ooss", strict=True)):
                    _draw_estimate(axes, gaps.get(name), x, "gap_pp", _T95, Mark(style.INK, marker))
        return plots.legend(figure, plots.legend_handles("learner", marks, study), handlelength=1)


def _draw_estimate(
    axes: Axes, row: Any, position: float, column: str, ends: Any, mark: Mark,
    horizontal: bool = False, seed_shift: float = 0.25, **more: Any,
) -> None:  # fmt: skip
    """A row's column at a place of the other axis, with interval and few seeds; or why not."""
    if row is None or not common.recovery_has_meaning(row) or is_missing(row[column]):
        text = NOT_RUN if row is None else "no meaning"
        if horizontal:
            axes.text(0.02, position, text, transform=axes.get_yaxis_transform(), va="center")
        else:
            middle = {"rotation": 90, "ha": "center", "va": "center"}
            axes.text(position, 0.5, text, transform=axes.get_xaxis_transform(), **middle)
        return
    seeds = row["points"][column].dropna()
    if horizontal or len(seeds) <= common.FEW_POINTS:
        places = seeds, np.full(len(seeds), position + seed_shift)
        plots.draw_dots(axes, *(places if horizontal else reversed(places)))
    place = (column, position) if horizontal else (position, column)
    plots.draw_error_bars(axes, row, *place, ends, mark, horizontal=horizontal, **more)


class GapByPair(Figure, name="pairs", label="Every pair of sessions", chapter="by_pair", order=10):
    """Gaps by pair and over pairs, of the task, network and split that has most pairs."""

    caption = """Held-out gaps in pp by pair of sessions, {title}. Small dots: seeds; marks: mean
    of a pair (hollow where a guard fails){together}. Grey band: the margin of {margin}."""
    by = ("optimizer", "comparison")
    shows: ClassVar = {"gap_pp": "{} pp", "n_pairs": "{} pairs"}

    def select(
        self, seed_gaps: pd.DataFrame, estimates: pd.DataFrame, over_pairs: pd.DataFrame, *,
        study: StudyFacts,
    ) -> Selection:  # fmt: skip
        rows = over_pairs[over_pairs["n_pairs"] == over_pairs["n_pairs"].max()]
        main = rows["estimand"] == common.OF_HELDOUT[0]
        by = (*SETTING, "estimand")
        keys = plots.largest_condition(
            rows[main] if main.any() else rows, study, over=self.by, keys=by
        ).keys
        if not keys:
            return Selection(rows)
        rows = where(over_pairs, **keys)
        square = common.find_square(study) or ()
        names = [name for name in square if (rows["comparison"] == name).any()]
        rows = rows[rows["comparison"].isin(names or study.distinct(rows, "comparison")[:4])]
        on = [name for name in (*by, "comparison") if name in rows]
        pairs = common.with_points(estimates.merge(rows[on].drop_duplicates(), on=on), seed_gaps)
        title = f"{study.condition_title(keys, over_pairs)}: {ESTIMAND_WORDS[keys['estimand']]}"
        together = f""". Below, the mean over pairs with its {common.OVER_PAIRS}, and the 95 %
        prediction interval for a new pair"""
        if len({pair["pair"] for pair in pairs}) < 2:
            together = f" with its {common.OVER_SEEDS}"
        return Selection(rows, title, keys, {"pairs": pairs, "together": together})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, pairs = selection.rows, selection.more["pairs"]
        labels = sorted({pair["pair"] for pair in pairs})
        below, ends = len(labels), _T95 if len(labels) == 1 else _NO_ENDS
        labels += _SUMMARIES if below > 1 else []
        marks = plots.marks(rows, "optimizer", study)
        layout = {"row_height_in": 0.5 + 0.14 * (len(labels) + 1), "margin_in": 1.3, "x": "row"}
        layout |= {"xlabel": "Gap (pp)"}
        figure, panels = plots.panels(rows, study, "comparison", "optimizer", **layout)
        for axes, over in panels:
            band = plots.draw_margin(axes, study, vertical=True)
            plots.label_rows(axes, labels)
            for row in over.to_dict("records"):
                mark = marks[row["optimizer"]]
                for pair in pairs:
                    if all(pair[name] == row[name] for name in self.by):
                        place = labels.index(pair["pair"]), "gap_pp", ends
                        face = "white" if pair["guards"] else mark.color
                        hollow = {"horizontal": True, "seed_shift": 0, "markerfacecolor": face}
                        _draw_estimate(axes, pair, *place, mark, **hollow)
                if below == 1:
                    continue
                axes.axhline(below - 0.5, color=style.QUIET, linewidth=0.6)
                mean = {"horizontal": True, "elinewidth": 2.4, "markersize": 5}
                plots.draw_error_bars(axes, row, "gap_pp", below, _T95, mark, **mean)
                new = {"horizontal": True, "elinewidth": 0.9, "marker": "|"}
                plots.draw_error_bars(axes, row, "gap_pp", below + 1, _NEW, mark, **new)
        signs = {"mean of a pair": {}, "a guard fails": {"markerfacecolor": "white"}}
        handles = [plots.legend_handle(label, marker="o", **sign) for label, sign in signs.items()]
        return plots.legend(figure, [plots.seed_legend_handle(), *handles, band], columnspacing=1)


class TostInterval(
    Figure, name="tost_interval", label="Equivalence within the margin", chapter="drift", order=10
):
    """Each gap of the main comparison beside the margin, those of the paper's headline first."""

    caption = """Held-out gap in pp of weights frozen once, at the end, {main}, with its {level} t
    interval over seeds of one pair: equivalent (TOST, α = {alpha:g}) where the interval lies inside
    the grey margin. Dots: seeds.{note}"""
    by = ("label",)
    shows: ClassVar = {"gap_pp": "{} pp", "delta_star_pp": "δ* {}"}

    def select(
        self, gaps: pd.DataFrame, seed_gaps: pd.DataFrame, *, study: StudyFacts
    ) -> Selection:
        rows = with_paper_rows(where(gaps, comparison=study.main), study, load().gaps, study.main)
        rows = study.arrange(rows[rows["run"].astype(bool)])
        kinds = [kind for kind in CONDITION if kind == "split" or rows[kind].nunique() > 1]
        kinds, records = ["optimizer", *reversed(kinds)], rows.to_dict("records")
        claim = weightiest_claim_condition("gaps")
        rows = rows.assign(
            label=[", ".join(study.called(kind, row[kind]) for kind in kinds) for row in records],
            headline=[
                plots.matches_paper_condition(row, study, claim, "comparison", "optimizer")
                for row in records
            ],
            gap_pp=rows["gap_pp"].where([common.recovery_has_meaning(row) for row in records]),
        ).sort_values("headline", ascending=False, kind="stable")
        more = {"level": f"{100 * (1 - 2 * study.alpha):g} %", "alpha": study.alpha, "note": ""}
        more["seeds"] = where(seed_gaps, estimand=common.PAPERS_ESTIMAND)
        if rows["paper_gap_pp"].notna().any():
            more["note"] = """ Open diamonds: the paper's estimates, with its interval where it
            prints one, or the 90 % interval that its δ* implies."""
        return Selection(rows, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, more = selection.rows, selection.more
        marks = plots.marks(rows, "optimizer", study)
        layout = {"row_height_in": 0.36 * len(rows), "width_in": style.TWO_COLUMNS_IN}
        figure, axes = plots.single(margin_in=1.35, xlabel="Gap (pp)", **layout)
        band = plots.draw_margin(axes, study, vertical=True)
        plots.label_rows(axes, rows["label"])
        place = {"xycoords": ("axes fraction", "data"), "va": "center"}
        for y, row in enumerate(common.with_points(rows, more["seeds"])):
            ends, mark = _T90 if row["n_seeds"] > 1 else _NO_ENDS, marks[row["optimizer"]]
            wide = {"horizontal": True, "seed_shift": -0.24, "elinewidth": 2, "capsize": 3}
            _draw_estimate(axes, row, y, "gap_pp", ends, mark, **wide)
            if not is_missing(row["paper_gap_pp"]):
                thin = {"horizontal": True, "elinewidth": 0.9, "markeredgewidth": 1, "zorder": 2.5}
                thin |= _THEIRS | {"markeredgecolor": style.QUIET}
                value, ends = row["paper_gap_pp"], ("paper_low", "paper_high")
                if row["headline"]:  # a t interval is symmetric, δ* its farther end
                    star = load().headline["delta_star_pp"]
                    ends = -star, 2 * value + star
                plots.draw_error_bars(axes, row, value, y + 0.32, ends, mark, **thin)
            axes.annotate(_equivalence_text(row), (1.01, y), **place)
        line = {"marker": "o", "linestyle": "-", "linewidth": 2}
        gap = plots.legend_handle(f"gap, {more['level']} t interval", **line)
        handles = [gap, plots.seed_legend_handle()]
        if more["note"]:
            line = _THEIRS | {"linestyle": "-", "linewidth": 0.9}
            handles.append(plots.legend_handle("the paper", **line))
        return plots.legend(figure, [*handles, band])


def _equivalence_text(row: Mapping[str, Any]) -> str:
    """The seeds of a gap, and whether it is equivalent, in words."""
    n = f"n = {sample_size(int(row['n_seeds']), int(row['n_diverged']))}"
    if not common.recovery_has_meaning(row):
        return f"{n}: recovery has no meaning"
    if is_missing(row["gap_pp"]):
        return f"{n}: no gap"
    verdict = "equivalent" if row["equivalent"] else "not shown equivalent"
    star = "" if is_missing(row["delta_star_pp"]) else f"δ* = {number(row['delta_star_pp'])}, "
    return f"{n}, {star}{verdict}"
