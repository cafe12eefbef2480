"""How far to trust a result: power, worlds with a known answer, every choice, precision."""

from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.numbers import interval, number
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables.trust import CHOICES, size_and_sd_text, specifications, varying_choices
from orla.study.keys import FORMATS

# Colour and hatch of each answer: they differ in grey too.
_ANSWERS = {
    "right": ("#0072b2", ""),
    "wrong": ("#d55e00", "xxxx"),
    "undecided": ("#d9d9d9", ""),
    "untestable": ("#ffffff", "////"),
}
# What was planted into the scatter of the study, by its size in margins.
_TRUE_GAPS = {0: "no gap planted", 1: "gap of one margin", 2: "gap of two margins"}
_OUTCOMES = ("supported", "falsified", "inconclusive", "untestable")
_CURVE, _CHOICES = "curve", "choices"
_HOLLOW = {"markerfacecolor": "white"}
_BAR = {"color": style.INK, "linewidth": 3, "alpha": 0.3, "zorder": 1}


class RegistrationPower(
    Figure, name="power", label="Power of each registration", chapter="trust", order=20
):
    """Power against the true gap at the scatter seen, a panel a registration."""

    caption = """Probability that a registration's claim is supported, against the true gap, at the
    registered number of pairs or seeds and the scatter (sd) that was seen. Dashes: 80 %."""
    by = ("registration",)
    shows: ClassVar = {"supported": "power {}", "n_80": "80 % at n {}"}

    def select(self, power: pd.DataFrame, *, study: StudyFacts) -> Selection:
        return Selection(power)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        groups = selection.rows.groupby("registration", sort=False)
        titled_rows = [(f"{name}\n{size_and_sd_text(rows.iloc[0])}", rows) for name, rows in groups]
        layout = {"row_height_in": 1.55, "margin_in": 0.6, "x": "plot", "wrap": 3}
        layout |= {"xlabel": "True gap (unit of the title)", "ylabel": "Power (%)"}
        figure, panels = plots.titled_panels(titled_rows, **layout)
        for axes, rows in panels:
            axes.axhline(80, color=style.QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)
            rows = rows.sort_values("true_gap")
            line = {"color": style.INK, "marker": "o", "markersize": 3}
            axes.plot(rows["true_gap"], 100 * rows["supported"], **line)
        axes.set(ylim=(-4, 104), yticks=[0, 20, 40, 60, 80, 100])
        return figure


class TruthControls(
    Figure, name="truth_controls", label="Verdicts on known answers", chapter="trust", order=10
):
    """Shares of right, wrong, undecided and untestable verdicts, a bar a world."""

    caption = """Verdicts on made-up studies whose true gap is known, through the same rules to the
    same judge, and the share of wrong ones (of worlds with its 95 % interval over made-up studies).
    Last, the scatter of this study's contrasts over pairs, all of them together, with a gap of
    zero, one or two margins planted, by the rules as they are and the former ones. On the margin
    every decision is wrong. Untestable is the right answer where nothing drifts."""
    by = ("world",)

    def select(self, truth_controls: pd.DataFrame, *, study: StudyFacts) -> Selection:
        worlds = truth_controls[truth_controls["world"] != ""]
        rest = truth_controls[truth_controls["world"] == ""]
        counts = ["studies", *_OUTCOMES, "right", "wrong", "undecided"]
        pools = rest.groupby(["rules", "margins"], sort=False)[counts].sum().reset_index()
        pools = pools.sort_values("rules", key=lambda rules: rules == "former", kind="stable")
        pooled_keys = zip(pools["margins"], pools["rules"], strict=True)
        words = [f"{_TRUE_GAPS[margins]}, {rules} rules" for margins, rules in pooled_keys]
        pools = pools.assign(wrong_share=pools["wrong"] / pools["studies"], world=words)
        rows = pd.concat([worlds.assign(world=worlds["means"]), pools], ignore_index=True)
        return Selection(rows.drop(columns="task"))

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows = selection.rows
        layout = {"row_height_in": 0.34 * len(rows), "width_in": style.TWO_COLUMNS_IN}
        figure, axes = plots.single(margin_in=1.3, **layout)
        decided_count, bar_start = rows["supported"] + rows["falsified"], 0.0
        counts = {name: rows[name].clip(upper=decided_count) for name in ("right", "wrong")}
        counts |= {"undecided": rows["inconclusive"], "untestable": rows["untestable"]}
        for answer, n in counts.items():
            bar = dict(zip(("color", "hatch"), _ANSWERS[answer], strict=True))
            bar |= {"edgecolor": style.INK, "linewidth": 0.5, "height": 0.62, "label": answer}
            share = 100 * n / rows["studies"]
            axes.barh(rows.index, share, left=bar_start, **bar)
            bar_start += share
        for y in rows.index:
            place = {"xy": (1.01, y), "xycoords": ("axes fraction", "data"), "va": "center"}
            axes.annotate(self.numbers_in_words(rows.loc[[y]]), **place)
        plots.label_rows(axes, rows["world"])
        axes.set(xlim=(0, 100), xlabel="Share of made-up studies (%)")
        return plots.legend(figure, axes.containers)

    def numbers_in_words(self, rows: pd.DataFrame) -> str:
        [row] = rows.to_dict("records")
        ends = interval(100 * row["wrong_low"], 100 * row["wrong_high"])
        words = f"{number(100 * row['wrong_share'])} % wrong {ends}".rstrip()
        return f"{words}, n = {int(row['studies'])}"


class Multiverse(
    Figure, name="multiverse", label="The gap under every choice", chapter="choices", order=10
):
    """The gap of Adam and of LARS over metric, cadence, split, freezing point and pretraining."""

    caption = """The gap of full minus immediate{on} under every choice, from the least to the
    greatest. Recovery in pp, R² and error (sign reversed) in hundredths, each with its 95 % t
    interval over seeds of one pair; grey band: the margin of {margin}. Below, the choices that each
    gap is made with."""
    by = ("optimizer",)
    shows: ClassVar = {"gap": "{}"}

    def select(self, multiverse: pd.DataFrame, *, study: StudyFacts) -> Selection:
        rows = specifications(multiverse, study)
        rows = rows[rows["gap"].notna()]
        # Of the two optimizers with most specifications; of several the last ones.
        sizes = rows["optimizer"].value_counts()
        most = sorted(study.distinct(rows, "optimizer"), key=lambda name: sizes[name])[-2:]
        rows = rows[rows["optimizer"].isin(most)]
        return Selection(rows, more={"on": "".join(rows["on"].head(1))})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, marks = selection.rows, plots.marks(selection.rows, "optimizer", study)
        choices, n = varying_choices(rows), rows["optimizer"].value_counts()
        lines = sum(map(len, choices.values())) + 0.6 * len(choices)
        names = study.value_names(rows, "optimizer").items()
        titles = {name: f"{label}, n = {n[name]}" for name, label in names}
        layout = {"margin_in": 0.7, "x": "column", "y": "row", "xlabel": "Specifications, by gap"}
        layout["row_height_in"] = [1.8, max(0.145 * lines, 0.3)]
        figure, grid = plots.facets(titles, {_CURVE: "", _CHOICES: ""}, **layout)
        for (part, name), axes in grid.items():
            axes.tick_params(axis="x", length=0, labelbottom=False)
            gaps, mark = where(rows, optimizer=name), marks[name]
            if part == _CURVE:
                plots.draw_margin(axes, study)
                thin = {"capsize": 0, "elinewidth": 0.8, "markersize": 2.6, "markeredgewidth": 0}
                place = np.arange(len(gaps)), "gap", ("low", "high")
                plots.draw_error_bars(axes, gaps, *place, mark, **thin)
                continue
            # A line a value of a choice, with a tick for each specification that has it.
            y, places = 0.0, {}
            for choice, values in choices.items():
                for value in values:
                    x = np.flatnonzero(gaps[choice] == value)
                    tick = {"marker": "|", "color": mark.color, "linewidths": 0.9}
                    axes.scatter(x, np.full(len(x), y), s=9, **tick)
                    places[y] = value if value != values[0] else f"{CHOICES[choice]}:  {value}"
                    y -= 1
                axes.axhline(y + 0.2, color=style.BAND, linewidth=0.8)
                y -= 0.6
            axes.set_yticks(list(places), places.values())
            axes.set_ylim(y + 0.6, 0.8)
            axes.tick_params(axis="y", length=0)
            axes.spines[["left", "bottom"]].set_visible(False)
        next(iter(grid.values())).set_ylabel("Gap (pp; R² and error:\nhundredths)")
        return figure


class ScalingBci(
    Figure, name="scaling_bci", label="Gaps by precision", chapter="precision", order=10
):
    """A plot a floating-point format, an optimizer a place: rates carried over, and own ones."""

    caption = """Held-out gap in pp, {main}, by floating-point format and optimizer: {title}. Bars
    and their marks: the precisions of a format at the rates that {rates_of} chose. Hollow: each at
    rates of its own. Grey: the margin of {margin}. n = {n}.{note}"""
    by = ("format", "optimizer")
    shows: ClassVar = {"gap_pp": "{} pp"}

    def select(self, numerics: pd.DataFrame, *, study: StudyFacts) -> Selection:
        over = ("precision", "optimizer")
        selection = plots.largest_condition(where(numerics, choice="rolling"), study, over=over)
        rows = selection.rows.assign(format=lambda rows: rows["precision"].map(study.number_format))
        fits = len(rows) and study.applicable_paper(selection.keys, study.main)
        more = {"rates_of": study.rates_of, "paper": bool(fits)}
        more["note"] = " In another colour beside them: the paper's." if fits else ""
        return Selection(rows.dropna(subset="gap_pp"), selection.title, selection.keys, more)

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        rows, marks = selection.rows, plots.marks(selection.rows, "precision", study)
        optimizers = study.value_names(rows, "optimizer")
        formats = {name: name for name in FORMATS[::-1] if (rows["format"] == name).any()}
        size = {"row_height_in": 2.0, "margin_in": 1.2, "width_in": style.TWO_COLUMNS_IN}
        figure, axes_by_format = plots.facets(formats, ylabel="Gap (pp)", **size)
        for name, axes in axes_by_format.items():
            band = plots.draw_margin(axes, study)
            axes.set_xticks(range(len(optimizers)), optimizers.values())
            for x, optimizer in enumerate(optimizers):
                here = where(rows, format=name, optimizer=optimizer)
                common = where(here, rates_of=study.rates_of)
                local = here[here["rates_of"] == here["precision"]]
                bar = sorted([*common["gap_pp"]] * 2)  # twice: a bar of one gap is drawn too
                axes.plot([x - 0.1] * len(bar), bar, **_BAR)
                for place, some, face in ((x - 0.1, common, {}), (x + 0.1, local, _HOLLOW)):
                    for precision, gap in zip(some["precision"], some["gap_pp"], strict=True):
                        options = {"color": marks[precision].color, "markersize": 4, "zorder": 3}
                        axes.plot(place, gap, marks[precision].marker, **options | face)
                keys = {"optimizer": optimizer, "precision": name, "split": selection.keys["split"]}
                for place, table in ((x - 0.3, "precision_grid"), (x + 0.3, "precision_best")):
                    theirs = load().table(table) if selection.more["paper"] else ()
                    gaps = [row["gap_pp"] for row in theirs if keys.items() <= row.items()]
                    if place < x:
                        bar = sorted(gaps * 2)
                        axes.plot([place] * len(bar), bar, **_BAR | {"color": style.RING})
                    axes.plot([place] * len(gaps), gaps, **plots.PAPERS, markersize=3)
        handles = [*plots.legend_handles("precision", marks, study), band]
        handles.append(plots.legend_handle("at its own rates", marker="o", markersize=4, **_HOLLOW))
        theirs = plots.legend_handle("the paper's", **plots.PAPERS, markersize=3)
        return plots.legend(figure, handles + [theirs] * selection.more["paper"])
