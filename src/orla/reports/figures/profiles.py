"""What figures of the table `profile` share: which condition is drawn, and a grid of panels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports import style
from orla.reports.figures.base import Paths
from orla.reports.figures.shared import count_range, say
from orla.reports.paper_rows import full_learner, papers_structure, plain
from orla.reports.study import StudyFacts

_TOGETHER = ["task", "pair", "architecture", "precision", "learner"]
_MOST_COLUMNS, _MOST_PANELS = 4, 12
# Characters of a panel's title in one line.
_LONGEST = 22
_PANEL, _SERIES = ["split", "optimizer"], ["seed", "quantity"]


class Chosen(NamedTuple):
    """The rows that are drawn, and what a reader calls their condition."""

    rows: pd.DataFrame
    title: str

    @property
    def seeds(self) -> str:
        """How many networks a panel has."""
        return count_range(self.rows.groupby(_PANEL)["seed"].nunique() if len(self.rows) else [])


def chosen(profile: pd.DataFrame, quantities: tuple[str, ...], study: StudyFacts) -> Chosen:
    """The rows of some quantities along one learner of one network, all optimizers and splits.

    The learner is the one that the paper measures with, where it ran; then the network and task
    with most panels. Of more panels than a page holds those of the paper's optimizers are drawn.
    """
    rows = plain(profile[profile["quantity"].isin(quantities)])
    rows = rows[rows["value"].notna()]
    if rows.empty:
        return Chosen(rows, "no data")
    if (full := rows["learner"] == full_learner()).any():
        rows = rows[full]
    # A table has millions of rows: what is drawn is chosen from its conditions, each once.
    conditions = study.arrange(rows[[*_TOGETHER, *_PANEL]].drop_duplicates())
    first = conditions.groupby(_TOGETHER, sort=False).size().idxmax()
    keys = dict(zip(_TOGETHER, first, strict=True))
    for name, value in keys.items():
        rows = rows[rows[name] == value]
    rows = study.arrange(rows)
    papers = rows["optimizer"].isin({row["optimizer"] for row in papers_structure()})
    if papers.any() and len(rows[_PANEL].drop_duplicates()) > _MOST_PANELS:
        rows = rows[papers]
    told = [k for k in _TOGETHER if keys[k] != ""]
    return Chosen(rows, ", ".join(study.called(key, keys[key]) for key in told))


def panels(found: Chosen, study: StudyFacts) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Title, optimizer and rows of each split and optimizer."""
    if found.rows.empty:
        return
    for (split, optimizer), rows in found.rows.groupby(_PANEL, sort=False):
        title = f"{study.called('optimizer', optimizer)}, {study.called('split', split)}"
        broken = title if len(title) <= _LONGEST else title.replace(", ", ",\n")
        yield broken, optimizer, rows


def in_one_line(title: str) -> str:
    """A panel's title for a sentence."""
    return title.replace("\n", " ")


def series(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Quantity and rows by index, a seed and quantity each."""
    for (_, quantity), one in rows.groupby(_SERIES, sort=True):
        yield quantity, one.sort_values("index")


@contextmanager
def grid(
    n: int, study: StudyFacts, title: str, paths: Paths, *, row_in: float, share: bool = True
) -> Iterator[tuple[Canvas, list[Axes]]]:
    """`n` panels, four in a row, that are saved when the block ends; "not run" for none."""
    columns = min(max(n, 1), _MOST_COLUMNS)
    lines = -(-max(n, 1) // columns)
    with style.house():
        figure, axes = plt.subplots(
            lines,
            columns,
            figsize=(style.TWO_COLUMNS_IN, 0.9 + row_in * lines),
            squeeze=False,
            sharex=share,
            sharey=share,
            layout="constrained",
        )
        for place, one in zip(count(), axes.flat):
            one.set_visible(place < max(n, 1))
            if share and n and place < n <= place + columns:
                one.tick_params(labelbottom=True)
        if not n:
            say(axes[0, 0], "not run")
        yield figure, list(axes.flat)[:n]
        style.heading(figure, study.simulated, title)
        style.save(figure, *paths)
