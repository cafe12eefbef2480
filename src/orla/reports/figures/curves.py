"""Lines: recovery by learning rate, the error along the stream, by horizon, by steps read."""

from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import number, span
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.drift import DECODER_NAMES, drifts

_RECOVERY = "recovery_heldout_percent"
# Recoveries far below zero belong to runs that nearly diverge: drawn at the foot.
_FLOOR_PERCENT = -20.0
# Decades between two splits of one rate.
_APART = 0.13
_RING = {"marker": "o", "markersize": 6.5, "markerfacecolor": "none", "linestyle": "none"}
_RING |= {"markeredgecolor": style.RING, "markeredgewidth": 1.3}
_SMOOTHED_WINDOWS = 5
_FROZEN = {"color": "#8f8f8f", "linestyle": (0, (2, 1))}
# Pairs of which decoders are drawn, the first ones.
_MOST_PAIRS = 6
_DECODERS = {
    "within_a": Mark(style.QUIET, "s", (0, (1, 1))),
    "within_b": Mark(style.INK, "o", "-"),
    "a_to_b": Mark("#c44e52", "^", (0, (4, 1.2))),
}


class LrCurves(
    Figure, name="lr_curves", label="Recovery against learning rate", chapter="rates", order=10
):
    """Every model a dot, learners by optimizers, of the condition that has most of them."""

    caption = """Held-out recovery against learning rate ({title}). Every model is a dot; lines:
    means over seeds, at rates where none diverged. Ring: the rate that rolling validation selects;
    cross: models that diverged ({lost}). Models under the axis stand at its foot."""
    by = ("optimizer",)
    shows: ClassVar = {"learning_rate": "rates {}", "recovery_heldout_percent": "recovery {} %"}

    def select(self, lr_curves: pd.DataFrame, *, study: StudyFacts) -> Selection:
        selection = plots.largest_condition(
            lr_curves, study, over=["learner", "optimizer"], beside=["split"]
        )
        diverged_text = f"{int(selection.rows['diverged'].sum())} of {len(selection.rows)}"
        return Selection(selection.rows, selection.title, more={"lost": diverged_text})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, marks = selection.rows, plots.marks(selection.rows, "split", study)
        labels = {"xlabel": "Learning rate", "ylabel": "Held-out recovery (%)"}
        layout = {"row_height_in": 1.25, "margin_in": 0.7, "x": "column"} | labels
        figure, panels = plots.panels(rows, study, "optimizer", "learner", **layout)
        finite = rows[_RECOVERY].dropna()
        low, high = max(min([0.0, *finite]), _FLOOR_PERCENT), max([10.0, *finite])
        pad = 0.08 * (high - low)  # with room below for what is under the axis
        for axes, models in panels:
            style.draw_zero_line(axes)
            axes.set(xscale="log", ylim=(low - 3 * pad, high + pad))
            axes.xaxis.set_major_locator(LogLocator(numticks=4))
            axes.xaxis.set_minor_locator(NullLocator())
            for split, shift in plots.series_shifts(models["split"].unique(), _APART).items():
                _draw_rate_curve(axes, where(models, split=split), marks[split], 10**shift)
        handles = plots.legend_handles("split", marks, study, lines=True, markersize=3, linewidth=1)
        signs = {"selected": _RING, "diverged": {"marker": "x"}}
        handles += [plots.legend_handle(label, **sign) for label, sign in signs.items()]
        return plots.legend(figure, handles, ncols=5)


def _draw_rate_curve(axes: Axes, rows: pd.DataFrame, mark: Mark, x_factor: float) -> None:
    """Draw a split's models against their rates times `x_factor`, means, and the selected rate."""
    low, high = axes.get_ylim()
    floor, bottom = (low + share * (high - low) for share in (0.14, 0.042))
    x, y, fails = rows["learning_rate"] * x_factor, rows[_RECOVERY], rows["diverged"].astype(bool)
    for those, height, sign in (
        (~fails, y.clip(lower=floor), {"s": 7, "alpha": 0.55, "marker": mark.marker}),
        (fails, y.where(~fails, bottom), {"s": 16, "marker": "x"}),
    ):
        axes.scatter(x[those], height[those], linewidths=0.8, color=mark.color, **sign)
    means = rows.groupby("learning_rate")[_RECOVERY].mean(skipna=False)
    line = {"color": mark.color, "linestyle": mark.line, "linewidth": 1, "zorder": 2.5}
    axes.plot(means.index * x_factor, means.where(means >= floor), **line)
    best = rows[rows["selected"].astype(bool)]
    if best[_RECOVERY].notna().any():
        axes.plot(x[best.index[0]], max(best[_RECOVERY].mean(), floor), zorder=4, **_RING)


class AdaptationTraces(
    Figure, name="adaptation_traces", label="Adaptation over the stream", chapter="drift", order=20
):
    """A line a learner, splits by optimizers, of the condition that has most learners there."""

    caption = f"""Error while learning, at the selected rates ({{title}}), per window of
    {{window:g}} steps, as a running mean over {_SMOOTHED_WINDOWS} windows. Lines: means over seeds
    that are finite there (n = {{n}}); bands: ± 1 standard deviation; grey dashes: the frozen
    model."""
    by = ("split", "learner")

    def select(self, traces: pd.DataFrame, *, study: StudyFacts) -> Selection:
        selection = plots.largest_condition(
            traces, study, over=["learner", "optimizer"], beside=["split"]
        )
        window = min(np.diff(np.unique(selection.rows["step"]), prepend=0), default=0)
        return Selection(selection.rows, selection.title, more={"window": window})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows.sort_values("step", kind="stable")
        marks = plots.marks(rows, "learner", study)
        model = rows.groupby(["learner", "optimizer", "split", "seed"])["error"]
        rows["smooth"] = model.transform(_smooth).where(rows["error"].notna())
        labels = {"xlabel": "Step of the adapt part", "ylabel": "Error"}
        layout = {"row_height_in": 1.8, "margin_in": 1.0, "x": "row"} | labels
        figure, panels = plots.panels(rows, study, "optimizer", "split", **layout)
        for axes, models in panels:
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
            frozen = models.groupby("step")["frozen_error"].mean()
            axes.plot(_smooth(frozen), linewidth=1.1, zorder=1.5, **_FROZEN)
            for i, (learner, mark) in enumerate(marks.items()):
                by_step = where(models, learner=learner).groupby("step")["smooth"]
                mean, spread = by_step.mean(), by_step.std().fillna(0)
                band = {"color": mark.color, "alpha": 0.13, "linewidth": 0}
                axes.fill_between(mean.index, mean - spread, mean + spread, **band)
                # Markers start one after another, so that none hides another.
                apart = max(len(mean) // 4, 1)
                options = {"markersize": 3, "markeredgecolor": "white", "markeredgewidth": 0.3}
                options |= {"marker": mark.marker, "markevery": (i * apart // len(marks), apart)}
                axes.plot(mean, color=mark.color, linestyle=mark.line, linewidth=1.2, **options)
        # All mean traces, but for those of models that diverge later.
        low, high = rows["frozen_error"].min(), rows["frozen_error"].max()
        means = rows.groupby(["learner", "optimizer", "split", "step"])["error"].mean()
        least, most = means.quantile([0.01, 0.995])
        axes.set_ylim(0.95 * min(low, least), max(1.1 * high, min(2 * high, 1.05 * most)))
        handles = plots.legend_handles("learner", marks, study, lines=True, markersize=3)
        return plots.legend(figure, [*handles, plots.legend_handle("frozen", **_FROZEN)], ncols=3)

    def numbers_in_words(self, rows: pd.DataFrame) -> str:
        last = rows[rows["step"] == rows["step"].max()]
        frozen = number(last["frozen_error"].mean(), 2)
        return f"{span(last['error'], digits=2)} in the last window, frozen {frozen}"


def _smooth(values: pd.Series) -> pd.Series:
    """Running mean over windows, because the stream varies more than learners differ."""
    return values.rolling(_SMOOTHED_WINDOWS, center=True, min_periods=1).mean()


class HorizonGap(
    Figure, name="horizon_gap", label="Gap against adapt horizon", chapter="horizon", order=10
):
    """A line an optimizer, a panel a condition, with the paper's range where it holds."""

    caption = """Held-out gap in pp, {main}, against the number of steps adapted. Bars: 95 % t
    interval over seeds of one pair (n = {n}).{note}"""
    by = ("optimizer",)
    shows: ClassVar = {"gap_pp": "{} pp"}

    def select(self, horizon_gaps: pd.DataFrame, *, study: StudyFacts) -> Selection:
        groups = [(group.title, group.rows) for group in study.groups(horizon_gaps)]
        paper = next(row for row in load().table("horizon_gap") if "low_pp" in row)
        bands = [plots.matches_paper_condition(rows.iloc[0], study, paper) for _, rows in groups]
        whose = study.called("optimizer", paper["optimizer"])
        ends = paper["low_pp"], paper["high_pp"]
        span = " to ".join(number(end, 0, signed=True) for end in ends)
        note = f" Grey band: the paper's range for {whose}, {span} pp." * any(bands)
        more = {"groups": groups, "bands": bands, "whose": whose, "ends": ends, "note": note}
        return Selection(study.arrange(horizon_gaps), more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        more, marks = selection.more, plots.marks(selection.rows, "optimizer", study)
        labels = {"xlabel": "Adapt horizon (steps)", "ylabel": "Gap (pp)"}
        layout = {"row_height_in": 1.9, "margin_in": 1.2, "x": "plot", "wrap": 3} | labels
        figure, panels = plots.titled_panels(more["groups"], **layout)
        for (axes, gaps), band in zip(panels, more["bands"], strict=True):
            if band:
                axes.axhspan(*more["ends"], color=style.BAND, zorder=0)
            style.draw_zero_line(axes)
            horizons = np.sort(gaps["horizon_steps"].unique())
            apart = 0.05 * np.min(np.diff(horizons)) if len(horizons) > 1 else 100.0
            for name, shift in plots.series_shifts(gaps["optimizer"].unique(), apart).items():
                line, mark = where(gaps, optimizer=name).sort_values("horizon_steps"), marks[name]
                place = line["horizon_steps"] + shift, "gap_pp", ("t95_low_pp", "t95_high_pp")
                plots.draw_error_bars(axes, line, *place, mark, linestyle=mark.line, elinewidth=1)
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
            axes.set_xticks(horizons)
            if gaps["gap_pp"].isna().all():
                plots.write_centred(axes, "no gap: diverged")
        handles = plots.legend_handles("optimizer", marks, study, lines=True)
        handles += [plots.swatch(f"the paper's {more['whose']}")] * any(more["bands"])
        return plots.legend(figure, handles, ncols=3 if len(panels) > 1 else 2)


class DriftReport(
    Figure, name="drift_report", label="What a decoder loses", chapter="sessions", order=10
):
    """Scores of ridge decoders against the steps they read, a panel a pair."""

    caption = """Score of a ridge decoder (R², or accuracy of categories) against the steps that it
    reads: fitted and scored within session A, within B, and fitted on A and scored on B; bars: 95 %
    jackknife intervals. Between the last two lies the drift that adaptation can undo. Grey line: a
    decoder of shuffled time (chance). {more}"""
    by = ("pair", "measure")
    shows: ClassVar = {"value": "{}"}

    def select(self, drift_report: pd.DataFrame, *, study: StudyFacts) -> Selection:
        pairs = drift_report[["task", "pair"]].drop_duplicates()
        visible_rows = drift_report.merge(pairs.head(_MOST_PAIRS), on=["task", "pair"])
        first = f"The first {_MOST_PAIRS} of {len(pairs)} pairs."
        more = {"more": first * (len(pairs) > _MOST_PAIRS), "drifts": [*drifts(visible_rows)]}
        return Selection(visible_rows[visible_rows["measure"].isin(DECODER_NAMES)], more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        pairs = selection.more["drifts"]
        rows = [where(selection.rows, task=drift.task, pair=drift.pair) for drift in pairs]
        groups = [(drift.pair or drift.task, part) for drift, part in zip(pairs, rows, strict=True)]
        layout = {"row_height_in": 1.8, "margin_in": 1.0, "wrap": 3, "xlabel": "Steps read"}
        layout["ylabel"] = " or ".join(sorted({drift.score for drift in pairs}))
        figure, panels = plots.titled_panels(groups, **layout)
        for drift, (axes, scores) in zip(pairs, panels, strict=True):
            for measure, mark in _DECODERS.items():
                line = where(scores, measure=measure)
                lags = line["at"].astype(float)
                how = {"linestyle": mark.line, "markersize": 3}
                plots.draw_error_bars(axes, line, lags, "value", ("low", "high"), mark, **how)
            axes.axhline(drift.value("chance"), color=style.BAND, zorder=0)
            axes.set_xscale("log")
            axes.set_xticks(lags, [f"{lag:g}" for lag in lags])
            axes.minorticks_off()
        handles = [
            plots.legend_handle(DECODER_NAMES[measure], mark, linestyle=mark.line, markersize=3)
            for measure, mark in _DECODERS.items()
        ]
        return plots.legend(figure, handles, ncols=3)
