"""Update ratio against recovery gap, an optimizer a point."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from orla.catalogue import Mark
from orla.reports import style
from orla.reports.figures.base import Caption, Figure, Paths
from orla.reports.figures.shared import bar, count_range, say
from orla.reports.numbers import estimate, is_missing
from orla.reports.paper import load
from orla.reports.study import StudyFacts, in_paper
from orla.study.keys import KEYS

_LABEL = "‖ΔW_hh‖/‖ΔW_out‖"
_MOST_PANELS = 3
# Digits of the ticks of a decade, the densest first.
_TICKS = ((1, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,))
_MOST_TICKS = 6
# From here on numbers are long, so that they need more room.
_LONG = 1000


class RatioGapPlane(
    Figure,
    name="ratio_gap_plane",
    label="Update ratio against recovery gap",
    chapter="mechanism",
    order=10,
    needs=("ratio_gap",),
):
    """Both with their intervals, a panel a split; of several networks that of most optimizers."""

    def draw(self, ratios: pd.DataFrame, *, paths: Paths, study: StudyFacts) -> None:
        found, title = _shown(ratios, study)
        splits = study.present(found, "split")[:_MOST_PANELS]
        looks = study.marks("optimizer", study.present(found, "optimizer"))
        with style.house():
            figure, grid = plt.subplots(
                1,
                max(len(splits), 1),
                figsize=(style.TWO_COLUMNS_IN, 3.0),
                squeeze=False,
                sharey=True,
                layout="constrained",
            )
            if not splits:
                say(grid[0, 0], "not run")
            theirs = False
            for axes, split in zip(grid[0], splits, strict=False):
                rows = found[found["split"] == split]
                axes.set_title(study.called("split", split))
                style.zero_line(axes)
                for row in rows.to_dict("records"):
                    _point(axes, row, looks[row["optimizer"]])
                theirs = _paper(axes, rows, looks, study) or theirs
                _ticks(axes)
                axes.set_xlabel(_LABEL)
            grid[0, 0].set_ylabel("Gap (pp)")
            if splits:
                handles = [_handle(study, name, look) for name, look in looks.items()]
                if theirs:
                    hollow = {"marker": "D", "markerfacecolor": "white", "linestyle": "none"}
                    handles.append(Line2D([], [], color=style.QUIET, label="the paper's", **hollow))
                figure.legend(handles=handles, loc="outside right center")
            style.heading(figure, study.of(found).simulated, title)
            style.save(figure, *paths)

    def ran(self, ratios: pd.DataFrame, *, study: StudyFacts) -> bool:
        return not _shown(ratios, study)[0].empty

    def describe(self, ratios: pd.DataFrame, *, study: StudyFacts) -> Caption:
        found, title = _shown(ratios, study)
        seen = "; ".join(
            f"{study.called('optimizer', row['optimizer'])}, {study.called('split', row['split'])}:"
            f" ratio {estimate(row['update_ratio'], digits=2)}, gap "
            f"{estimate(row['gap_pp'], row['low_pp'], row['high_pp'], signed=True)} pp"
            for row in found.to_dict("records")
        )
        paper = " Hollow diamonds: the paper's Table 3." if _has_paper(found, study) else ""
        return self.captioned(
            study.of(found),
            f"Mean over updates of {_LABEL} under the comparison's first learner, and the "
            f"held-out recovery gap of {study.words(study.main)}, {title}, by optimizer. Bars: "
            "95 % percentile bootstrap intervals over seeds (n = "
            f"{count_range(found['n_seeds']) if len(found) else 0})." + paper,
            f"Scatter plot, a panel a split. {seen or 'No data'}.",
        )


def _shown(ratios: pd.DataFrame, study: StudyFacts) -> tuple[pd.DataFrame, str]:
    """The rows of one task, network and precision with most optimizers, of all splits."""
    rows = ratios.dropna(subset=["update_ratio", "gap_pp"])
    if rows.empty:
        return rows, "no data"
    keys = [key for key in KEYS if key not in ("learner", "optimizer", "split")]
    rows = study.arrange(rows)
    first = rows.groupby(keys, sort=False)["optimizer"].nunique().idxmax()
    chosen = dict(zip(keys, first, strict=True))
    title = study.title_of(chosen, rows.assign(split=""))
    return rows[(rows[keys] == pd.Series(chosen)).all(axis=1)], title


def _ticks(axes: Axes) -> None:
    """A logarithmic axis with a few plain numbers."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    within: list[float] = []
    for digits in _TICKS if high < _LONG else _TICKS[-1:]:
        ticks = [digit * 10.0**power for power in range(-4, 6) for digit in digits]
        within = [tick for tick in ticks if low <= tick <= high]
        if len(within) <= _MOST_TICKS:
            break
    axes.set_xticks(within)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _point(axes: Axes, row: dict[str, Any], look: Mark) -> None:
    bar(axes, row["update_ratio"], row["gap_pp"], row["low_pp"], row["high_pp"], look)
    ends = row["update_ratio_low"], row["update_ratio_high"]
    if not any(is_missing(end) for end in ends):
        axes.plot(ends, [row["gap_pp"]] * 2, color=look.color, linewidth=1.2)


def _paper(
    axes: Axes, rows: pd.DataFrame, looks: dict[str, Mark], study: StudyFacts
) -> list[dict[str, Any]]:
    """The paper's points, where its table is of this condition; those that were drawn."""
    found = _papers(rows, study)
    for theirs in found:
        look = looks.get(theirs["optimizer"])
        axes.plot(
            theirs["update_ratio"], theirs["gap_pp"], marker="D", markersize=5, linestyle="none",
            markerfacecolor="white", markeredgecolor=look.color if look else style.QUIET,
        )  # fmt: skip
    return found


def _papers(rows: pd.DataFrame, study: StudyFacts) -> list[dict[str, Any]]:
    if rows.empty:
        return []
    keys = rows.iloc[0].to_dict()
    if study.paper(keys, study.main) is None:
        return []
    same = ("architecture", "precision", "split")
    return [
        theirs
        for theirs in map(load().ratio_gap, in_paper("optimizer"))
        if theirs and all(theirs[name] == keys[name] for name in same)
    ]


def _has_paper(found: pd.DataFrame, study: StudyFacts) -> bool:
    return any(_papers(rows, study) for _, rows in found.groupby("split", sort=False))


def _handle(study: StudyFacts, optimizer: str, look: Mark) -> Line2D:
    return Line2D(
        [], [], color=look.color, marker=look.marker, linestyle="none",
        label=study.called("optimizer", optimizer),
    )  # fmt: skip
