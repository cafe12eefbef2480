"""Accuracy over time on tabular streams."""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.study import StudyFacts
from orla.reports.tables.streams import PEERS, model

# What sets models apart, which are called alike on every stream.
_MODEL = ["peer", "architecture", "learner", "optimizer", "intervention", "start"]
_DRIFT = {"color": style.INK, "linestyle": (0, (1, 1)), "linewidth": 0.8}


class AccuracyOverTime(
    Figure, name="accuracy_over_time", label="Accuracy over time", chapter="streams", order=20
):
    """A plot a stream, a line a model: accuracy by window."""

    caption = (
        "Prequential accuracy by window of {window:g} rows, means over seeds (n = {n}){drifts}. "
        "Grey: the windows by which a network's learning rate is chosen."
    )
    by = ("task", "model")
    shows: ClassVar = {"accuracy": "{} %"}

    def select(self, profile: pd.DataFrame, peers: pd.DataFrame, *, study: StudyFacts) -> Selection:
        networks = profile[profile["quantity"] == "accuracy"]
        networks = networks.drop(columns="quantity").rename(columns={"value": "accuracy"})
        networks = networks[networks["task"].isin(peers["task"])].assign(peer=None)
        rows = pd.concat([study.arrange(networks), peers], ignore_index=True)
        if rows.empty:
            return Selection(rows)
        alike = rows.groupby(_MODEL, dropna=False, sort=False)["task"]
        rows["model"] = alike.transform(lambda group: model(rows.loc[group.index[0]], study))
        window = peers["step"].min()
        abrupt = {t: study.options("task", t).get("drifts", []) for t in rows["task"].unique()}
        more = {"window": window, "abrupt": abrupt}
        more["drifts"] = "; dotted lines: abrupt drifts" if any(abrupt.values()) else ""
        return Selection(rows, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, window = selection.rows, selection.more["window"]
        groups = [(study.called("task", t), each) for t, each in rows.groupby("task", sort=False)]
        layout = {"row_in": 2.0, "around_in": 1.3, "x": "plot", "y": "plot", "wrap": 3}
        figure, panels = plots.titled(groups, xlabel="Row", ylabel="Accuracy (%)", **layout)
        colors = {name: f"C{i}" for i, name in enumerate(rows["model"].unique())}
        for axes, models in panels:
            [task] = models["task"].unique()
            for name, each in models.groupby("model", sort=False):
                mean = each.groupby("index")["accuracy"].mean()
                dashed = "--" if each["peer"].notna().any() else "-"
                at = window * (mean.index + 1)
                axes.plot(at, mean, color=colors[name], linestyle=dashed, linewidth=1.0)
            unscored = models.loc[models["scored"].eq(False), "step"]
            axes.axvspan(0, unscored.max() if len(unscored) else 0, color=style.BAND, zorder=0)
            for row in selection.more["abrupt"][task]:
                axes.axvline(row, **_DRIFT)
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
        peers = {*PEERS.values()}
        handles = [
            plots.key(name, color=color, marker="", linestyle="--" if name in peers else "-")
            for name, color in colors.items()
        ]
        plots.legend(figure, handles, ncols=2)
        return figure
