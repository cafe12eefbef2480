"""Further learners, networks and decays: cosines by cost, gradient norms, recovery by decay."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.comparison import network_kind
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import memory, number, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.tables.breadth import reference_names, rows_against_exact
from orla.reports.words import NOT_RUN
from orla.study.keys import KEYS

# Columns of the models' table, which the probes of these names add; the paper's have these names.
_MEASURES = {
    "gradient_ratio": "Readout's gradient norm\nover the recurrent one",
    "condition_number": "Condition number\nof ∂h/∂θ",
}
_MEDIAN = {"color": style.INK, "marker": "|", "markersize": 9, "linestyle": "none"}
_LINEAR = 100  # recovery in % up to which the axis is linear where it is not so throughout


class CosineByMemory(
    Figure, name="learners", label="Accuracy of gradients by cost", chapter="breadth", order=10
):
    """Cosine by bytes, a panel a network, of the task and driver that has most networks."""

    caption = """Cosine of each learner's gradient with that of {exact} against the bytes that it
    holds of one model between updates, {title}. Mean over updates, then over seeds (n = {n}); bars:
    95 % t interval over seeds of one pair. A learner that carries nothing stands at 0."""
    by = ("architecture", "learner")
    shows: ClassVar = {"cosine": "{}"}

    def select(self, learners: pd.DataFrame, *, study: StudyFacts) -> Selection:
        selection = plots.largest_condition(
            rows_against_exact(learners, study), study, over=["architecture"]
        )
        # What is drawn is the learner that looks on, not the one that drives.
        rows = selection.rows.assign(learner=selection.rows["observer"])
        return Selection(rows, selection.title, more={"exact": reference_names(rows, study)})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        marks = plots.marks(rows.dropna(subset="cosine"), "learner", study)
        n_columns = min(rows["architecture"].nunique(), 3)
        layout = {"row_height_in": 1.8, "margin_in": 0.9 + 0.16 * -(-len(marks) // n_columns)}
        layout |= {"xlabel": "Bytes carried a model", "wrap": n_columns}
        layout |= {"ylabel": f"Cosine with\n{selection.more['exact']}"}
        figure, panels = plots.panels(rows, study, "architecture", **layout)
        ends = "cosine_t95_low", "cosine_t95_high"
        for axes, observers in panels:
            style.draw_zero_line(axes)
            axes.axhline(1, color=style.QUIET, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0)
            for row in observers.dropna(subset="cosine").to_dict("records"):
                mark = marks[row["learner"]]
                plots.draw_error_bars(axes, row, "carried_bytes", "cosine", ends, mark, zorder=3)
        # A logarithmic axis with a place for 0, which is left of it.
        carried_bytes = rows.loc[rows["carried_bytes"] > 0, "carried_bytes"]
        first = 10.0 ** np.floor(np.log10(carried_bytes.min() if len(carried_bytes) else 1e3))
        axes.set_xscale("symlog", linthresh=first, linscale=0.7)
        axes.xaxis.get_major_locator().set_params(numticks=4)
        axes.xaxis.set_major_formatter(lambda n, _: memory(n).replace(".0", "") if n else "0")
        axes.set_xlim(-first / 3, 3 * max(carried_bytes.max(), first))
        lowest = rows[["cosine", ends[0]]].min(axis=None)
        axes.set_ylim(min(-0.05, max(-1.1, lowest - 0.08)), 1.1)
        handles = plots.legend_handles("learner", marks, study)
        return plots.legend(figure, handles, ncols=n_columns, handlelength=1)


class GradRatio(
    Figure, name="grad_ratio", label="Gradients by network", chapter="breadth", order=20
):
    """A row a network, seeds as dots, of the task and learner that has most networks."""

    caption = """Norm of the readout's gradient over that of the recurrent parameters' (median over
    updates), and condition number of the step's Jacobian ∂h/∂θ of the recurrent parameters, the
    previous state held fixed (mean over the steps that were looked at), {title}. Dots: seeds (n =
    {n}); marks: their median.{note}"""
    by = ("architecture",)
    shows: ClassVar = {"gradient_ratio": "ratio {}", "condition_number": "condition number {}"}

    def select(self, heldout: pd.DataFrame, *, study: StudyFacts) -> Selection:
        models = heldout.reindex(columns=heldout.columns.union([*_MEASURES], sort=False))
        models = models.dropna(subset=list(_MEASURES), how="all")
        selection = plots.largest_condition(models, study, over=["architecture"])
        tasks = set(selection.rows["task"])
        paper = [row for row in load().table("gradient_ratio") if row.get("task") in tasks]
        note = """ Open diamonds and bars: the paper's numbers where it prints any (its Figure 4 and
        Appendix F); grey band: under 10, as it says of five of its seven networks."""
        more = {"paper": paper, "note": note if paper else ""}
        return Selection(selection.rows, selection.title, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, paper = selection.rows, selection.more["paper"]
        names = study.value_names(rows, "architecture")
        layout = {"row_height_in": 0.24 * max(len(names), 3), "margin_in": 1.3, "x": "plot"}
        figure, axes_by_measure = plots.facets(dict.fromkeys(_MEASURES, ""), **layout)
        medians = rows.groupby("architecture")[list(_MEASURES)].median().reindex(names)
        for measure, axes in axes_by_measure.items():
            if rows[measure].notna().any():
                seeds = {"color": style.QUIET, "size": 2.6, "jitter": False, "zorder": 2}
                sns.stripplot(rows, x=measure, y="architecture", order=names, ax=axes, **seeds)
                axes.plot(medians[measure], range(len(names)), zorder=3, **_MEDIAN)
                networks = [{name, network_kind(study, name)} for name in names]
                _draw_paper_numbers(axes, measure, paper, networks)
                axes.set_xscale("log")
            else:
                plots.write_centred(axes, NOT_RUN)
            axes.set(xlabel=_MEASURES[measure], ylabel="")
            plots.label_rows(axes, names.values())
        handles = [plots.seed_legend_handle(), plots.legend_handle("median", **_MEDIAN)]
        if paper:
            theirs = plots.legend_handle("the paper's", **plots.PAPERS)
            handles += [theirs, plots.swatch("the paper's five of seven")]
        return plots.legend(figure, handles)


def _draw_paper_numbers(
    axes: Axes, measure: str, paper: Sequence[dict[str, Any]], networks: Sequence[set[str]]
) -> None:
    """The paper's numbers, or the ranges that it prints, under the networks' own."""
    ends = f"{measure}_from", f"{measure}_to"
    bar = {"marker": "|", "linewidth": 1.6, "color": style.RING, "zorder": 4}
    for row in paper:
        if f"{measure}_below" in row:
            axes.axvspan(1, row[f"{measure}_below"], color=style.BAND, zorder=0)
        for y in (y for y, names in enumerate(networks) if row["architecture"] in names):
            if measure in row:
                axes.plot(row[measure], y + 0.25, zorder=4, **plots.PAPERS)
            elif ends[0] in row:
                axes.plot([row[end] for end in ends], [y + 0.25] * 2, **bar)


class DecaySweep(
    Figure, name="decay_sweep", label="Recovery against trace decay", chapter="breadth", order=30
):
    """A line a network, at the paper's rate, of the task and kind of network with most decays.

    Learners are those of the kinds that the paper's figure is about. The decay is the option of
    that name, for a learner without it what the paper says of it (0 for immediate derivatives).
    """

    caption = """Held-out recovery against the decay of the trace at a rate of {rate}, {title}. Mean
    over seeds (n = {n}), bars: one standard deviation; {lost} models diverged and are left
    out.{log}{note}"""
    by = ("architecture",)
    shows: ClassVar = {"recovery_heldout_percent": "{} %"}

    def select(self, lr_curves: pd.DataFrame, *, study: StudyFacts) -> Selection:
        paper, decays = load().table("decay_sweep"), _decays_by_learner(lr_curves, study)
        rates = lr_curves["learning_rate"].astype(float)
        at_rate = np.isclose(rates, paper[0]["learning_rate"], rtol=1e-6, atol=0.0)
        rows = lr_curves[at_rate & lr_curves["learner"].isin(decays)]
        kinds = rows["architecture"].map(lambda name: network_kind(study, name))
        rows = rows.assign(kind=kinds, decay=rows["learner"].map(decays))
        keys = {"over": ["learner"], "beside": ["architecture"], "keys": (*KEYS, "kind")}
        selection = plots.largest_condition(study.arrange(rows), study, **keys)
        rows = selection.rows
        # The paper's rows are of one task, optimizer and kind of network.
        ours = set(rows[["task", "optimizer", "kind"]].itertuples(index=False, name=None))
        paper = [r for r in paper if (r["task"], r["optimizer"], r["architecture"]) in ours]
        note = """ Open diamond: the recovery that the paper prints (its Figure 3 and Section 4);
        grey band: the decays that it calls a safe plateau."""
        has_outlier = (_recovery_by_decay(rows)["mean"] < -10 * _LINEAR).any()
        log = f" Beyond {_LINEAR} % the axis is logarithmic."
        more = {"paper": paper, "note": note * bool(paper), "log": log * bool(has_outlier)}
        more["rate"] = rate(rates[at_rate].max())
        more["lost"] = f"{int(rows['diverged'].sum())} of {len(rows)}"
        return Selection(rows, selection.title, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, lines = selection.rows, _recovery_by_decay(selection.rows)
        marks = plots.marks(rows, "architecture", study)
        labels = {"xlabel": "Trace decay", "ylabel": "Held-out recovery (%)"}
        figure, axes = plots.single(row_height_in=2.1, margin_in=0.8, **labels)
        style.draw_zero_line(axes)
        for name, shift in plots.series_shifts(marks, 0.006).items():
            line, mark = lines.loc[name], marks[name]
            place = line.index + shift, "mean", ("low", "high")
            plots.draw_error_bars(axes, line, *place, mark, linestyle=mark.line, elinewidth=1)
        if selection.more["log"]:
            axes.set_yscale("symlog", linthresh=_LINEAR, linscale=2)
            axes.yaxis.set_major_formatter(lambda y, _: number(y, 0))
        axes.set_xlim(-0.05, 1.05)
        handles = plots.legend_handles("architecture", marks, study, lines=True)
        for row in selection.more["paper"]:
            if "decay_below" in row:
                axes.axvspan(0, row["decay_below"], color=style.BAND, zorder=0)
                handles.append(plots.swatch("the paper's safe plateau"))
            elif "recovery_percent" in row and "hidden" not in row:
                axes.plot(row["decay"], row["recovery_percent"], zorder=4, **plots.PAPERS)
                handles.append(plots.legend_handle("the paper's", **plots.PAPERS))
        return plots.legend(figure, handles, ncols=1)


def _recovery_by_decay(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean recovery by network and decay, with the ends of one standard deviation."""
    values = rows.groupby(["architecture", "decay"])["recovery_heldout_percent"]
    mean, sd = values.mean(), values.std()
    return pd.DataFrame({"mean": mean, "low": mean - sd, "high": mean + sd})


def _decays_by_learner(models: pd.DataFrame, study: StudyFacts) -> dict[str, float]:
    """Learner -> decay, where any learner of the models declares one."""
    paper = {row["learner"]: row.get("decay") for row in load().table("decay_sweep")}
    names = study.distinct(models, "learner")
    kind = {name: study.declaration("learner", name).get("name") for name in (*paper, *names)}
    kinds = {kind[name] for name in paper} - {None}
    names = [name for name in names if kind[name] in kinds]
    options = {name: study.options("learner", name).get("decay") for name in names}
    decays = {name: paper.get(name) if value is None else value for name, value in options.items()}
    if {*options.values()} <= {None}:
        return {}
    return {name: float(decay) for name, decay in decays.items() if decay is not None}
