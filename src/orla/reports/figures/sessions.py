"""How well a decoder fitted on one session reads the other, by the steps that it reads."""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures import plots
from orla.reports.figures.base import Figure, Selection
from orla.reports.sessions import DECODED, drifts
from orla.reports.study import StudyFacts, where

# Pairs that are drawn, the first ones.
MOST = 6
_LOOKS = {
    "within_a": {"color": style.QUIET, "marker": "s", "linestyle": (0, (1, 1))},
    "within_b": {"color": style.INK, "marker": "o", "linestyle": "-"},
    "a_to_b": {"color": "#c44e52", "marker": "^", "linestyle": (0, (4, 1.2))},
}


class DriftReport(
    Figure, name="drift_report", label="What a decoder loses", chapter="sessions", order=10
):
    """Scores of ridge decoders against the steps they read, a panel a pair."""

    caption = (
        "Score of a ridge decoder (R², or accuracy of categories) against the steps that it reads: "
        "fitted and scored within session A, within B, and fitted on A and scored on B; bars: 95 % "
        "jackknife intervals. Between the last two lies the drift that adaptation can undo. "
        "Grey line: a decoder of shuffled time (chance). {more}"
    )
    by = ("pair", "measure")
    shows: ClassVar = {"value": "{}"}

    def select(self, drift_report: pd.DataFrame, *, study: StudyFacts) -> Selection:
        pairs = drift_report[["task", "pair"]].drop_duplicates()
        shown = drift_report.merge(pairs.head(MOST), on=["task", "pair"])
        left = len(pairs) - MOST
        more = f"The first {MOST} of {len(pairs)} pairs." if left > 0 else ""
        rows = shown[shown["measure"].isin(DECODED)]
        chance = shown[shown["measure"] == "chance"].set_index(["task", "pair"])["value"].to_dict()
        names = {(d.task, d.pair): d for d in drifts(shown)} if len(shown) else {}
        return Selection(rows, more={"more": more, "chance": chance, "names": names})

    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        names = selection.more["names"]
        titles = {key: drift.pair or drift.task for key, drift in names.items()}
        scores = {drift.score for drift in names.values()}
        figure, axes = plots.facets(
            titles,
            row_in=1.8,
            around_in=1.0,
            xlabel="Steps read",
            ylabel=" or ".join(sorted(scores)),
            wrap=3,
        )
        for key in names:
            mine = where(selection.rows, task=key[0], pair=key[1])
            for measure, words in DECODED.items():
                rows = where(mine, measure=measure)
                x, y = rows["at"].astype(float), rows["value"]
                bars = [y - rows["low"], rows["high"] - y]
                axes[key].errorbar(x, y, yerr=bars, label=words, markersize=3, **_LOOKS[measure])
            axes[key].axhline(selection.more["chance"][key], color=style.BAND, zorder=0)
            axes[key].set_xscale("log")
            axes[key].set_xticks(x, [f"{each:g}" for each in x])
            axes[key].minorticks_off()
        handles, labels = next(iter(axes.values())).get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return figure
