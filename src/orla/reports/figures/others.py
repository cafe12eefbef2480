"""Other data: accuracy on tabular streams, loss of language models, recovery in vision."""

from collections.abc import Collection
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import estimate, number
from orla.reports.study import StudyFacts, where
from orla.reports.tables.language import learner_optimizer_text
from orla.reports.tables.others import ADAPTS, Tent, model_name, recovery_by_corruption
from orla.results.language import PROXY
from orla.tasks.river import PEERS

# What sets models apart, which are called alike on every stream.
_MODEL = ["peer", "architecture", "learner", "optimizer", "intervention", "start"]
_DRIFT_LINE = {"color": style.INK, "linestyle": (0, (1, 1)), "linewidth": 0.8}


class _Means(Figure):
    """A plot a group of rows, a line a name: the mean of `y` by `x`, dashed for some names."""

    layout: ClassVar[dict[str, Any]]

    def draw_means(
        self, groups: list[tuple[str, pd.DataFrame]], rows: pd.DataFrame, dashes: Collection[str]
    ) -> plots.Panels:
        """The figure, with its legend, and its plots, each with its rows."""
        figure, panels = plots.titled_panels(groups, y="plot", wrap=3, **self.layout)
        line_styles = {
            name: {"color": f"C{i}", "linestyle": "--" if name in dashes else "-"}
            for i, name in enumerate(rows["line"].unique())
        }
        for axes, group in panels:
            for name, line_rows in group.groupby("line", sort=False):
                axes.plot(line_rows.groupby("x")["y"].mean(), linewidth=1.0, **line_styles[name])
            axes.xaxis.set_major_formatter(plots.THOUSANDS)
        handles = [plots.legend_handle(n, marker="", **line) for n, line in line_styles.items()]
        plots.legend(figure, handles, ncols=2)
        return figure, panels


class AccuracyOverTime(
    _Means, name="accuracy_over_time", label="Accuracy over time", chapter="streams", order=20
):
    """A plot a stream, a line a model: accuracy by window."""

    caption = """Prequential accuracy by window of {window:g} rows, means over seeds (n =
    {n}){drifts}. Grey: the windows by which a network's learning rate is chosen."""
    by = ("task", "line")
    shows: ClassVar = {"y": "{} %"}
    layout: ClassVar = {
        "row_height_in": 2.0, "margin_in": 1.3, "x": "plot", "xlabel": "Row",
        "ylabel": "Accuracy (%)",
    }  # fmt: skip

    def select(self, profile: pd.DataFrame, peers: pd.DataFrame, *, study: StudyFacts) -> Selection:
        networks = profile[profile["quantity"] == "accuracy"].rename(columns={"value": "accuracy"})
        networks = networks[networks["task"].isin(peers["task"])].assign(peer=None)
        rows = pd.concat([study.arrange(networks), peers], ignore_index=True)
        if rows.empty:
            return Selection(rows)
        alike = rows.groupby(_MODEL, dropna=False, sort=False)["task"]
        window = peers["step"].min()
        rows = rows.assign(
            line=alike.transform(lambda group: model_name(rows.loc[group.index[0]], study)),
            x=window * (rows["index"] + 1),
            y=rows["accuracy"],
        )
        abrupt = {t: study.options("task", t).get("drifts", []) for t in rows["task"].unique()}
        drifts = "; dotted lines: abrupt drifts" if any(abrupt.values()) else ""
        return Selection(rows, more={"window": window, "abrupt": abrupt, "drifts": drifts})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        groups = [(study.called("task", t), part) for t, part in rows.groupby("task", sort=False)]
        figure, panels = self.draw_means(groups, rows, PEERS.values())
        for axes, models in panels:
            steps = models.loc[models["scored"].eq(False), "step"]
            axes.axvspan(0, steps.max() if len(steps) else 0, color=style.BAND, zorder=0)
            for row in selection.more["abrupt"][models["task"].iloc[0]]:
                axes.axvline(row, **_DRIFT_LINE)
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        return figure


class LoraLosses(
    _Means, name="lora_losses", label="Loss along the stream", chapter="language", order=40
):
    """A plot a model, a line a learner and optimizer: loss less the frozen model's."""

    caption = """Cross-entropy of each token before it is learned less that of the frozen model, by
    bin of {bin:g} tokens, means over seeds (n = {n}). Dotted: the shift from {first} to {second};
    grey: the part that is read by frozen weights too, for the held-out loss."""
    by = ("called",)
    layout: ClassVar = {
        "row_height_in": 1.9, "margin_in": 1.0, "xlabel": "Token",
        "ylabel": "Loss less the frozen model's (nats)",
    }  # fmt: skip

    def select(self, language: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = language[language["stream"] == 0]
        main = (rows[[*PROXY]] == pd.Series(PROXY)).all(axis=1)
        rows = rows[main | (rows["learner"] == "immediate")]
        if rows.empty:
            return Selection(rows)
        rows = rows.assign(
            called=rows["model"] + ", rank " + rows["rank"].astype(str),
            line=[learner_optimizer_text(row, study) for row in rows.to_dict("records")],
            x=rows["token"],
            y=rows["loss"] - rows["frozen"],
        )
        domains = rows["domain"].unique()
        more = {"bin": rows["token"].drop_duplicates().diff().dropna().min()}
        more |= {"first": domains[0], "second": domains[-1], "n": rows["seed"].nunique()}
        return Selection(rows, more=more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        dashes = {name for name in rows["line"] if name.startswith("TBPTT")}
        figure, panels = self.draw_means([*rows.groupby("called", sort=False)], rows, dashes)
        for axes, group in panels:
            axes.axvline(group.loc[group["segment"] > 0, "token"].min(), **_DRIFT_LINE)
            heldout_tokens = group.loc[group["heldout"].notna(), "token"]
            axes.axvspan(heldout_tokens.min(), group["token"].max(), color=style.BAND, zorder=0)
            style.draw_zero_line(axes)
        return figure

    def numbers_in_words(self, rows: pd.DataFrame) -> str:
        gain = -rows[rows["segment"] > 0].groupby("line", sort=False)["y"].mean()
        return ", ".join(f"{what} {number(value, 2)} nats below" for what, value in gain.items())


class TentRecovery(
    Figure, name="tta", label="Recovery by test-time adaptation", chapter="vision", order=20
):
    """A plot a kind of parameters, a row an optimizer: corruptions as dots, and their mean."""

    caption = """Recovery of what corruptions cost a network on average, by what adapts and
    optimizer; one that costs more can exceed 100 %. Dots: corruptions, means over seeds; marks:
    means with 95 % t intervals over corruptions. Dotted line: statistics of the batch alone. Open
    diamonds: the paper's, of a WideResNet-28-10 on CIFAR-10-C."""
    by = ("panel", "optimizer")

    def select(self, tta: pd.DataFrame, *, study: StudyFacts) -> Selection | None:
        if tta.empty:
            return None
        rows = Tent().rows(tta, study=study)
        alone = rows[rows["adapts"] == "statistics"]["recovery"].mean()
        return Selection(rows[rows["adapts"].isin(ADAPTS)], more={"tta": tta, "alone": alone})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, dots = selection.rows, recovery_by_corruption(selection.more["tta"])
        marks = plots.marks(rows, "optimizer", study)
        layout = {"row_height_in": 0.3 * len(marks), "margin_in": 0.9, "xlabel": "Recovery (%)"}
        figure, panels = plots.titled_panels([*rows.groupby("panel", sort=False)], **layout)
        for axes, panel_rows in panels:
            axes.axvline(selection.more["alone"], color=style.INK, linestyle=":", zorder=0)
            for row in panel_rows.to_dict("records"):
                y, mark = [*marks].index(row["optimizer"]), marks[row["optimizer"]]
                ours = where(dots, adapts=row["adapts"], optimizer=row["optimizer"])
                plots.draw_dots(axes, ours["recovery"], [y + 0.22] * len(ours))
                place = "recovery", y, ("recovery_low", "recovery_high")
                plots.draw_error_bars(axes, row, *place, mark, horizontal=True, zorder=3)
                axes.plot(row["papers_recovery"], y, **plots.PAPERS)
            plots.label_rows(axes, [study.called("optimizer", name) for name in marks])
        return figure

    def numbers_in_words(self, rows: pd.DataFrame) -> str:
        [row] = rows.to_dict("records")
        return f"{estimate(row['recovery'], row['recovery_low'], row['recovery_high'])} %"
