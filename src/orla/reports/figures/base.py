"""The base class of figures: parts that select from results once, plot the rows and word them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Part
from orla.reports import style
from orla.reports.numbers import count, join_lines, span
from orla.reports.study import StudyFacts
from orla.study.keys import KEYS


class Caption(NamedTuple):
    """Title, caption and alternative text of a figure."""

    title: str
    caption: str
    alt: str


class Selection(NamedTuple):
    """The rows that are drawn, their title and keys, and what else plot or caption needs."""

    rows: pd.DataFrame
    title: str = ""
    keys: Mapping[str, Any] = MappingProxyType({})
    more: Mapping[str, Any] = MappingProxyType({})


class Figure(Part, ABC):
    """A figure of the report. Its class statement names it, its title (label) and chapter.

    A subclass gives `select`, `plot`, `caption` and `shows`. The parameters of its `select` are the
    names of the results that it needs.

    Attributes:
        caption: a template. Its fields are the names in `Selection.more`, and {title}; {n}, how
            many seeds a condition has; {main}, the main comparison; {margin}, of equivalence.
        by: columns; the alternative text says something of the rows of each of their values.
        shows: column -> what is said of it, with {} for its numbers, smallest to largest.
    """

    kind: ClassVar[str] = "figure"
    declares: ClassVar[Mapping[str, Any]] = {"needs": ()}
    caption: ClassVar[str] = ""
    by: ClassVar[tuple[str, ...]] = ()
    shows: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **declarations: Any) -> None:
        if "name" in declarations:
            declarations["needs"] = tuple([*signature(cls.select).parameters][1:-1])
        super().__init_subclass__(**declarations)

    @abstractmethod
    def select(self, *frames: pd.DataFrame, study: StudyFacts) -> Selection | None:
        """What is drawn of some results, or None (or no rows) where nothing of it was run."""

    @abstractmethod
    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        """The figure of a selection that has rows, without heading."""

    def numbers_in_words(self, rows: pd.DataFrame) -> str:
        """The numbers that a reader sees of these rows, in words."""
        spans = (
            text.format(span(values, count) if values.dtype == int else span(values, digits=2))
            for column, text in self.shows.items()
            if len(values := rows[column].dropna())
        )
        return ", ".join(spans) or "no number"

    def render(
        self, *frames: pd.DataFrame, study: StudyFacts, paths: Sequence[Path | str] = ()
    ) -> Caption | None:
        """Select once, save the figure under each path (.pdf, .png) and answer its caption.

        Where nothing ran the files only say so, and there is no caption.
        """
        selection, label = self.select(*frames, study=study), self.part.label
        if selection is None or selection.rows.empty:
            if paths:
                with style.house_style():
                    figure = plt.figure(figsize=(style.ONE_COLUMN_IN, 0.5))
                    figure.text(0.01, 0.5, f"{label}: not run", va="center")
                    style.save(figure, *paths)
            return None
        rows, facts = selection.rows, study.narrow_to(selection.rows)
        if paths:
            with style.house_style():
                figure, title = self.plot(selection, study), selection.title
                if figure.get_figwidth() <= style.ONE_COLUMN_IN:
                    title = title.replace(", ", ",\n", 1)
                # A figure travels without its caption.
                heading = " · ".join(filter(None, ["SIMULATED sessions" * facts.simulated, title]))
                if heading:
                    figure.suptitle(heading, x=0.01, ha="left")
                style.save(figure, *paths)
        keys = [key for key in KEYS if key in rows]
        seeds = rows.groupby(keys)["seed"].nunique() if "seed" in rows else pd.Series()
        fields = {"title": selection.title, "n": span(rows.get("n_seeds", seeds), count)}
        fields["main"] = study.comparison_text(study.main)
        fields |= {"margin": f"±{study.margin_pp:g} pp (the config's)", **selection.more}
        items = (
            f"{', '.join(map(study.called, self.by, values))}: {self.numbers_in_words(part)}"
            for values, part in rows.groupby(list(self.by), sort=False)
        )
        caption = facts.caption_prefix + join_lines(self.caption.format_map(fields))
        return Caption(label, caption, f"{label}. {'; '.join(items)}.")
