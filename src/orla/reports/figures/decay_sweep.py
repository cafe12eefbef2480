"""Recovery against the decay of a trace, at one rate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Figure, Selection
from orla.reports.figures.plots import (
    bars,
    count_range,
    facets,
    key,
    legend,
    most,
    swatch,
)  # fmt: skip
from orla.reports.numbers import number, rate
from orla.reports.paper import load
from orla.reports.study import StudyFacts

# The option of a learner that the figure is about; the paper's rows have it under this name too.
_OPTION = "decay"
# Recovery in % up to which the axis is linear where it is not so throughout.
_LINEAR = 100


class DecaySweep(
    Figure,
    name="decay_sweep",
    label="Recovery against trace decay",
    chapter="breadth",
    order=30,
    needs=("lr_curves",),
):
    """Recovery by decay at the paper's rate, a line a network: mean and sd over seeds.

    Learners are those of the kinds that the paper's figure is about. The decay is the option of
    that name, for a learner without it what the paper says of it (0 for immediate derivatives). Of
    several tasks, splits and optimizers the one with most decays is drawn.
    """

    def select(self, models: pd.DataFrame, *, study: StudyFacts) -> Selection:
        decays, paper = _decays(models, study), load().table("decay_sweep")
        at_rate = np.isclose(models["learning_rate"].astype(float), _rate(), rtol=1e-6, atol=0.0)
        rows = models[at_rate & models["learner"].isin(decays)]
        # The sizes of one kind of network stand together.
        kinds = {name: _kind(name, study) for name in rows["architecture"].unique()}
        rows = rows.assign(
            network=rows["architecture"],
            architecture=rows["architecture"].map(kinds),
            **{_OPTION: rows["learner"].map(decays)},
        )
        selection = most(rows, _by_kind(study), over=["learner"])
        rows = selection.rows
        # The paper's rows are of one task, optimizer and kind of network.
        same = ("task", "optimizer", "architecture")
        ours = rows[list(same)].drop_duplicates().to_dict("records")
        paper = [row for row in paper if {key: row[key] for key in same} in ours]
        labels = _by_size(rows, study)
        values = rows.groupby(["network", _OPTION])["recovery_heldout_percent"]
        lines = {name: values.agg(["mean", "std"]).loc[name] for name in labels}
        symlog = any((line["mean"] < -10 * _LINEAR).any() for line in lines.values())
        more = {"labels": labels, "lines": lines, "paper": paper, "symlog": symlog}
        return Selection(rows, selection.title, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        labels, lines = selection.more["labels"], selection.more["lines"]
        looks = study.marks("architecture", labels)
        names = {"xlabel": "Trace decay", "ylabel": "Held-out recovery (%)"}
        figure, plots = facets({"": ""}, row_in=2.1, around_in=0.8, **names)
        axes = plots[""]
        style.zero_line(axes)
        for i, (name, line) in enumerate(lines.items()):
            x = line.index + 0.006 * (i - (len(lines) - 1) / 2)
            ends = line["mean"] - line["std"], line["mean"] + line["std"]
            look = looks[name]
            bars(axes, x, line["mean"], *ends, look, linestyle=look.line, elinewidth=1)
        if selection.more["symlog"]:
            axes.set_yscale("symlog", linthresh=_LINEAR, linscale=2)
            axes.yaxis.set_major_formatter(lambda y, _: number(y, 0))
        axes.set_xlim(-0.05, 1.05)
        handles = [key(labels[name], looks[name], linestyle=looks[name].line) for name in lines]
        legend(figure, [*handles, *_paper(axes, selection.more["paper"])], ncols=1)
        return figure

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        rows, more = selection.rows, selection.more
        items = "; ".join(
            f"{more['labels'][name]}: "
            + ", ".join(f"{number(mean)} % at {decay:g}" for decay, mean in line["mean"].items())
            for name, line in more["lines"].items()
        )
        seeds = rows.groupby(["network", _OPTION])["seed"].nunique()
        caption = (
            f"Held-out recovery against the decay of the trace at a rate of {rate(_rate())}, "
            f"{selection.title}. Mean over seeds (n = {count_range(seeds)}), bars: one standard "
            f"deviation; {int(rows['diverged'].sum())} of {len(rows)} models diverged and are left "
            "out."
        )
        if more["symlog"]:
            caption += f" Beyond {_LINEAR} % the axis is logarithmic."
        if more["paper"]:
            caption += (
                " Open diamond: the recovery that the paper prints (its Figure 3 and Section 4); "
                "grey band: the decays that it calls a safe plateau."
            )
        return caption, f"Lines of recovery against decay, one a network. {items}."


def _rate() -> float:
    """The rate of the paper's figure."""
    return load().table("decay_sweep")[0]["learning_rate"]


def _by_size(rows: pd.DataFrame, study: StudyFacts) -> dict[str, str]:
    """What the networks are called, by their number of units."""
    units = {
        name: study.options("architecture", name).get("hidden", 0)
        for name in study.present(rows.assign(architecture=rows["network"]), "architecture")
    }
    labels: dict[str, str] = {}
    for name in sorted(units, key=units.__getitem__):
        kind = _by_kind(study).called("architecture", _kind(name, study))
        label = f"{kind}, {units[name]} units" if units[name] else kind
        labels[name] = f"{label} ({name})" if label in labels.values() else label
    return labels


def _by_kind(study: StudyFacts) -> StudyFacts:
    """The study as one whose networks are called by their kinds alone."""
    instances = {kind: named for kind, named in study.instances.items() if kind != "architecture"}
    return replace(study, instances=instances)


def _kind(network: str, study: StudyFacts) -> str:
    return study.declaration("architecture", network).get("name", network)


def _decays(models: pd.DataFrame, study: StudyFacts) -> dict[str, float]:
    """Learner -> decay, where any learner of the models declares one."""
    paper = {row["learner"]: row.get(_OPTION) for row in load().table("decay_sweep")}
    kinds = {study.declaration("learner", name).get("name") for name in paper} - {None}
    decays = {
        name: study.options("learner", name).get(_OPTION, paper.get(name))
        for name in study.present(models, "learner")
        if study.declaration("learner", name).get("name") in kinds
    }
    if not any(_OPTION in study.options("learner", name) for name in decays):
        return {}
    return {name: float(decay) for name, decay in decays.items() if decay is not None}


def _paper(axes: Axes, rows: list[dict[str, Any]]) -> list[Any]:
    """What the paper says: a recovery at a decay, and where recovery does not depend on it.

    Returns:
        What the legend says of it.
    """
    handles: dict[str, Any] = {}
    for row in rows:
        if f"{_OPTION}_below" in row:
            axes.axvspan(0, row[f"{_OPTION}_below"], color=style.BAND, zorder=0)
            handles["band"] = swatch("the paper's safe plateau")
        elif "recovery_percent" in row and "hidden" not in row:
            look = {"marker": "D", "markerfacecolor": "white", "color": style.RING}
            axes.plot(row[_OPTION], row["recovery_percent"], linestyle="none", zorder=4, **look)
            handles["recovery"] = key("the paper's", **look)
    return list(handles.values())
