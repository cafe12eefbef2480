"""The loss of language models along the stream."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import number
from orla.reports.study import StudyFacts
from orla.reports.tables.language import called
from orla.results.language import PROXY


class LoraLosses(
    Figure, name="lora_losses", label="Loss along the stream", chapter="language", order=40
):
    """A plot a model, a line a learner and optimizer: loss less the frozen model's."""

    caption = (
        "Cross-entropy of each token before it is learned less that of the frozen model, by bin of "
        "{bin:g} tokens, means over seeds (n = {n}). Dotted: the shift from {first} to {second}; "
        "grey: the part that is read by frozen weights too, for the held-out loss."
    )
    by = ("called",)

    def select(self, language: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = language[language["stream"] == 0]
        main = (rows[[*PROXY]] == pd.Series(PROXY)).all(axis=1)
        rows = rows[main | (rows["learner"] == "immediate")]
        if rows.empty:
            return Selection(rows)
        names = rows["model"] + ", rank " + rows["rank"].astype(str)
        what = [called(row, study) for row in rows.to_dict("records")]
        rows = rows.assign(called=names, what=what)
        domains = rows["domain"].unique()
        more = {"bin": rows["token"].drop_duplicates().diff().dropna().min()}
        more |= {"first": domains[0], "second": domains[-1], "n": rows["seed"].nunique()}
        return Selection(rows, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        groups = list(rows.groupby("called", sort=False))
        layout = {"row_in": 1.9, "around_in": 1.0, "x": "all", "y": "plot", "wrap": 3}
        labels = {"xlabel": "Token", "ylabel": "Loss less the frozen model's (nats)"}
        figure, panels = plots.titled(groups, **labels, **layout)
        colors = {name: f"C{i}" for i, name in enumerate(rows["what"].unique())}
        dashed = {name for name in colors if name.startswith("TBPTT")}
        for axes, group in panels:
            for what, each in group.groupby("what", sort=False):
                gain = (each["loss"] - each["frozen"]).groupby(each["token"]).mean()
                line = "--" if what in dashed else "-"
                axes.plot(gain.index, gain, color=colors[what], linestyle=line, linewidth=1.0)
            shift = group.loc[group["segment"] > 0, "token"].min()
            axes.axvline(shift, color=style.INK, linestyle=(0, (1, 1)), linewidth=0.8)
            held = group.loc[group["heldout"].notna(), "token"]
            axes.axvspan(held.min(), group["token"].max(), color=style.BAND, zorder=0)
            style.zero_line(axes)
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
        handles = [
            plots.key(name, color=color, marker="", linestyle="--" if name in dashed else "-")
            for name, color in colors.items()
        ]
        plots.legend(figure, handles, ncols=2)
        return figure

    def seen(self, rows: pd.DataFrame) -> str:
        after = rows[rows["segment"] > 0]
        gain = (after["frozen"] - after["loss"]).groupby(after["what"], sort=False).mean()
        return ", ".join(f"{what} {number(value, 2)} nats below" for what, value in gain.items())
