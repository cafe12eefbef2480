"""Right, wrong and no verdicts in worlds whose answer is known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import say
from orla.reports.numbers import interval, number
from orla.reports.study import StudyFacts

# Colour and hatch of each answer: they differ in grey too.
_LOOKS = {
    "right": ("#0072b2", ""),
    "wrong": ("#d55e00", "xxxx"),
    "undecided": ("#d9d9d9", ""),
    "untestable": ("#ffffff", "////"),
}


class TruthControls(
    Figure,
    name="truth_controls",
    label="Verdicts in worlds with a known answer",
    chapter="trust",
    order=10,
    needs=("truth_controls",),
):
    """Shares of right, wrong, undecided and untestable verdicts, a bar a world and claim."""

    def draw(self, controls: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        labels = [_label(row) for row in controls.to_dict("records")]
        with style.house():
            figure, axes = plt.subplots(
                figsize=(style.TWO_COLUMNS_IN, 1.3 + 0.34 * max(len(labels), 1)),
                layout="constrained",
            )
            if not labels:
                say(axes, "not run")
            left, places = np.zeros(len(labels)), -np.arange(len(labels))
            for name, share in _shares(controls).items():
                color, hatch = _LOOKS[name]
                axes.barh(
                    places, share, left=left, height=0.62, label=name,
                    color=color, hatch=hatch, edgecolor=style.INK, linewidth=0.5,
                )  # fmt: skip
                left = left + share
            for y, row in zip(places, controls.to_dict("records"), strict=True):
                place = (1.01, y)
                inside = ("axes fraction", "data")
                axes.annotate(_wrong(row), place, xycoords=inside, va="center")
            axes.set_yticks(places, labels)
            axes.set_xlim(0, 100)
            axes.tick_params(axis="y", length=0)
            axes.set_xlabel("Share of made-up studies (%)")
            if labels:
                figure.legend(loc="outside lower center", ncols=4)
            style.heading(figure, study.simulated)
            style.save(figure, *paths)

    def describe(self, controls: pd.DataFrame, *, study: StudyFacts) -> Caption:
        seen = "; ".join(f"{_label(row)}: {_wrong(row)}" for row in controls.to_dict("records"))
        return self.captioned(
            study,
            "Verdicts on made-up studies whose true gap is known, through the same rules to the "
            "same judge. At the right, the share of wrong verdicts with its 95 % interval over "
            "made-up studies. Untestable is the right answer where nothing drifts.",
            f"Stacked bars, one a world and claim. {seen or 'No data'}.",
        )


def _shares(controls: pd.DataFrame) -> dict[str, np.ndarray]:
    """Percent of the studies that were decided rightly and wrongly, not decided, not testable."""
    decided = controls["supported"] + controls["falsified"]
    found = {
        "right": np.minimum(controls["right"], decided),
        "wrong": np.minimum(controls["wrong"], decided),
        "undecided": controls["inconclusive"],
        "untestable": controls["untestable"],
    }
    return {name: (100 * n / controls["studies"]).to_numpy(float) for name, n in found.items()}


def _label(row: dict) -> str:
    gap = number(row["true_gap_pp"], signed=True)
    return f"{row['world']}, true gap {gap} pp: {row['claim']}"


def _wrong(row: dict) -> str:
    ends = interval(100 * row["wrong_low"], 100 * row["wrong_high"])
    return f"{number(100 * row['wrong_share'])} % wrong {ends}, n = {int(row['studies'])}"
