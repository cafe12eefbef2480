"""The base class of figures: parts that select from results once, plot the rows and word them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Part
from orla.reports import style
from orla.reports.numbers import count, span
from orla.reports.study import StudyFacts
from orla.study.keys import KEYS


@dataclass(frozen=True)
class Caption:
    """Title, caption and alternative text of a figure."""

    title: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Selection:
    """The rows that a figure is about.

    Attributes:
        rows: what is drawn.
        title: what a reader calls their condition, for the heading of the figure.
        keys: the key columns that they have in common.
        more: what else the plot or the caption needs, by names of its own.
    """

    rows: pd.DataFrame
    title: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


class Figure(Part, ABC):
    """A figure of the report. Its class statement names it, its title (label) and chapter.

    A subclass gives `select`, `plot`, `caption` and `seen`. The parameters of its `select` are the
    names of the results that it needs.

    Attributes:
        caption: a template. Its fields are the names in `Selection.more`, and {title}; {n}, how
            many seeds a condition has; {main}, the main comparison; {margin}, of equivalence.
        by: columns; `seen` says something of the rows of each of their values.
    """

    kind: ClassVar[str] = "figure"
    declares: ClassVar[Mapping[str, Any]] = {"needs": ()}
    caption: ClassVar[str] = ""
    by: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **declared: Any) -> None:
        if "name" in declared:
            names = [*signature(cls.select).parameters]
            declared["needs"] = tuple(name for name in names if name not in ("self", "study"))
        super().__init_subclass__(**declared)

    @abstractmethod
    def select(self, *frames: pd.DataFrame, study: StudyFacts) -> Selection | None:
        """What is drawn, or None (or no rows) where the study ran nothing of it.

        Args:
            *frames: results, each a parameter of its name; they may be empty.
            study: names, comparisons and data of the study.
        """

    @abstractmethod
    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        """The figure of a selection that has rows, without heading."""

    @abstractmethod
    def seen(self, rows: pd.DataFrame) -> str:
        """The numbers that a reader sees of these rows, in words."""

    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        """Caption and alternative text: "SGD, 80/20: what is seen; LARS, 80/20: ..."."""
        rows, counts = selection.rows, pd.Series()
        if "n_seeds" in rows:
            counts = rows["n_seeds"]
        elif "seed" in rows:
            counts = rows.groupby([key for key in KEYS if key in rows])["seed"].nunique()
        fields = {"title": selection.title, "n": span(counts, count)} | selection.more
        fields |= {"main": study.words(study.main), "margin": f"±{study.margin_pp:g} pp"}
        items = (
            f"{', '.join(map(study.called, self.by, values))}: {self.seen(part)}"
            for values, part in rows.groupby(list(self.by), sort=False)
        )
        return self.caption.format_map(fields), f"{self.part.label}. {'; '.join(items)}."

    def render(
        self, *frames: pd.DataFrame, study: StudyFacts, paths: Sequence[Path | str] = ()
    ) -> Caption | None:
        """Select once, save the figure under each path (.pdf, .png) and answer its caption.

        Where nothing ran the files only say so, and there is no caption.
        """
        selection = self.select(*frames, study=study)
        nothing = selection is None or selection.rows.empty
        facts = study if nothing else study.of(selection.rows)
        with style.house():
            if nothing and paths:
                figure = plt.figure(figsize=(style.ONE_COLUMN_IN, 0.5))
                figure.text(0.01, 0.5, f"{self.part.label}: not run", va="center")
                style.save(figure, *paths)
            elif paths:
                figure = self.plot(selection, study)
                style.heading(figure, facts.simulated, selection.title)
                style.save(figure, *paths)
        if nothing:
            return None
        caption, alt = self.words(selection, study)
        return Caption(self.part.label, facts.prefix + caption, alt)
