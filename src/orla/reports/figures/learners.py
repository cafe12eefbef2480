"""Accuracy of learners' gradients against what they carry."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.alignment import against_exact, ordered, references
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import bar, say, seed_counts, widest
from orla.reports.numbers import memory, number
from orla.reports.study import StudyFacts

_ACROSS = 3


class Learners(
    Figure,
    name="learners",
    label="Accuracy of gradients against their cost",
    chapter="breadth",
    order=10,
    needs=("learners",),
):
    """Cosine with the exact gradient against the bytes carried, a panel a network.

    Of several tasks, drivers and optimizers the one with most networks is drawn.
    """

    def draw(self, learners: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        rows, title = widest(against_exact(learners, study), study, "architecture")
        networks = study.present(rows, "architecture") or [""]
        agreeing = rows.loc[rows["cosine"].notna(), "observer"]
        looks = study.marks("learner", ordered(agreeing, study))
        across = min(len(networks), _ACROSS)
        down = -(-len(networks) // across)
        lines = -(-len(looks) // across)
        with style.house():
            figure, grid = plt.subplots(
                down,
                across,
                figsize=(
                    style.TWO_COLUMNS_IN if across > 1 else style.ONE_COLUMN_IN,
                    0.9 + 1.8 * down + 0.16 * lines,
                ),
                squeeze=False,
                sharey=True,
                sharex=True,
                layout="constrained",
            )
            for axes in grid.flat[len(networks) :]:
                axes.set_visible(False)
            for axes, network in zip(grid.flat, networks, strict=False):
                _panel(axes, rows[rows["architecture"] == network], looks)
                axes.set_title(study.called("architecture", network), loc="left")
            if looks:
                _bytes_axis(grid[0, 0], rows["carried_bytes"].to_numpy(float))
                grid[0, 0].set_ylim(min(-0.05, max(-1.1, _lowest(rows) - 0.08)), 1.1)
                for axes in _lowest_shown(grid, len(networks)):
                    axes.set_xlabel("Bytes carried a model")
                    axes.tick_params(labelbottom=True)
                figure.supylabel(f"Cosine with {references(rows, study)}", fontsize=style.FONT_PT)
                figure.legend(
                    handles=_legend(looks, study),
                    loc="outside lower center",
                    ncols=across,
                    columnspacing=1.2,
                    handlelength=1,
                )
            else:
                say(grid[0, 0], "not run")
            told = title if across > 1 else title.replace(", ", ",\n", 1)
            style.heading(figure, study.of(rows).simulated, told)
            style.save(figure, *paths)

    def ran(self, learners: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not against_exact(learners, study).empty

    def describe(self, learners: pd.DataFrame, *, study: StudyFacts) -> Caption:
        rows, title = widest(against_exact(learners, study), study, "architecture")
        seen = "; ".join(
            f"{study.called('architecture', network)}: "
            + ", ".join(
                f"{study.called('learner', row['observer'])} {number(row['cosine'], 2)} at "
                f"{memory(row['carried_bytes'])}"
                for row in rows[rows["architecture"] == network].to_dict("records")
            )
            for network in study.present(rows, "architecture")
        )
        exact = references(rows, study) or "an exact learner"
        return self.captioned(
            study.of(rows),
            f"Cosine of each learner's gradient with that of {exact} against the bytes that it "
            f"holds of one model between updates, {title}. Mean over updates, then over seeds "
            f"(n = {seed_counts(rows)}); bars: 95 % t interval over seeds of one pair. A learner "
            "that carries nothing stands at 0, left of the logarithmic axis.",
            f"Scatter plots of cosine against bytes, a panel a network. {seen or 'No data'}.",
        )


def _panel(axes: Axes, rows: pd.DataFrame, looks: dict[str, Mark]) -> None:
    style.zero_line(axes)
    axes.axhline(1, color=style.QUIET, linewidth=0.8, linestyle=(0, (1, 1)), zorder=0)
    for row in rows.to_dict("records"):
        if not np.isnan(row["cosine"]):
            ends = row["cosine_t95_low"], row["cosine_t95_high"]
            bar(axes, row["carried_bytes"], row["cosine"], *ends, looks[row["observer"]], zorder=3)


def _bytes_axis(axes: Axes, carried: np.ndarray) -> None:
    """A logarithmic axis with a place for 0, which is left of it."""
    some = carried[carried > 0]
    low, high = (some.min(), some.max()) if some.size else (1e3, 1e3)
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high) + 0.1))
    step = max(1, -(-(last - first) // 4))
    axes.set_xscale("symlog", linthresh=10.0**first, linscale=0.7)
    ticks = [0.0] * bool((carried == 0).any())
    ticks += [10.0**power for power in range(first, last + 1, step)]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    axes.set_xlim(-(10.0**first) / 3 if ticks[0] == 0 else 10.0**first / 1.5, 2 * 10.0**last)


def _tick(value: float, _: int) -> str:
    return memory(value).replace(".0", "") if value else "0"


def _lowest(rows: pd.DataFrame) -> float:
    return float(rows[["cosine", "cosine_t95_low"]].min(axis=None, skipna=True))


def _lowest_shown(grid: np.ndarray, panels: int) -> list[Axes]:
    """The lowest plot of each column that shows a panel."""
    return [column[(panels - 1 - j) // len(grid[0])] for j, column in enumerate(grid.T)]


def _legend(looks: dict[str, Mark], study: StudyFacts) -> list[Line2D]:
    return [
        Line2D(
            [], [], color=look.color, marker=look.marker, markeredgecolor=style.INK,
            markeredgewidth=0.4, linestyle="none", label=study.called("learner", name),
        )
        for name, look in looks.items()
    ]  # fmt: skip
