"""What figures of the table `profile` share: which condition is drawn, and its panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orla.reports.figures.base import Selection
from orla.reports.figures.plots import count_range, facets, most, where
from orla.reports.measured import plain
from orla.reports.paper_rows import full_learner, papers_structure
from orla.reports.study import StudyFacts

_TOGETHER = ("task", "pair", "architecture", "precision", "learner")
_PANEL = ["split", "optimizer"]
_MOST_PANELS = 12
# Characters of a panel's title in one line.
_LONGEST = 22


def most_panels(
    profile: pd.DataFrame, quantities: tuple[str, ...], study: StudyFacts
) -> Selection | None:
    """Some quantities along one learner of one network, all optimizers and splits.

    The learner is the one that the paper measures with, where it ran; then the network and task
    with most panels. Of more panels than a page holds those of the paper's optimizers are drawn.
    """
    rows = plain(profile[profile["quantity"].isin(quantities)])
    rows = rows[rows["value"].notna()]
    if (full := rows["learner"] == full_learner()).any():
        rows = rows[full]
    selection = most(rows, study, over=_PANEL, keys=_TOGETHER)
    rows, keys = selection.rows, selection.keys
    papers = rows["optimizer"].isin({row["optimizer"] for row in papers_structure()})
    if papers.any() and len(rows[_PANEL].drop_duplicates()) > _MOST_PANELS:
        rows = rows[papers]
    title = ", ".join(study.called(kind, value) for kind, value in keys.items() if value != "")
    return Selection(rows, title)


def panels(rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Title, optimizer and rows of each split and optimizer."""
    for (split, optimizer), panel in rows.groupby(_PANEL, sort=False):
        title = f"{study.called('optimizer', optimizer)}, {study.called('split', split)}"
        yield title, optimizer, panel


def plots(
    rows: pd.DataFrame, study: StudyFacts, **layout: Any
) -> tuple[Canvas, list[tuple[Axes, str, pd.DataFrame]]]:
    """A plot for each panel, with its optimizer and rows, four in a row.

    Args:
        rows, study: of the panels.
        **layout: of `facets`.
    """
    each = list(panels(rows, study))
    short = [t if len(t) <= _LONGEST else t.replace(", ", ",\n") for t, _, _ in each]
    figure, axes = facets(dict(enumerate(short)), around_in=0.9, **layout)
    return figure, [(axes[i], *panel[1:]) for i, panel in enumerate(each)]


def seen(rows: pd.DataFrame, study: StudyFacts, word: Any) -> str:
    """What `word` says of the rows of each panel, after its title."""
    return "; ".join(f"{title}: {word(panel)}" for title, _, panel in panels(rows, study))


def networks(rows: pd.DataFrame) -> str:
    """How many networks a panel has."""
    return count_range(rows.groupby(_PANEL)["seed"].nunique())


def of_quantity(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The rows of one quantity, its values from 1 on in a column for each seed."""
    values = where(rows, {"quantity": quantity})
    values = values.pivot(index="index", columns="seed", values="value")
    return values.set_axis(values.index + 1)
