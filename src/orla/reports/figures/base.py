"""The base class of figures: parts that select from results once, plot the rows and word them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure as Canvas

from orla.catalogue import Part
from orla.reports import style
from orla.reports.study import StudyFacts

Paths = Sequence[Path | str]


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
        more: what else the figure needs, by names of its own.
    """

    rows: pd.DataFrame
    title: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


class Figure(Part, ABC):
    """A figure of the report. Its class statement names it, its title (label) and chapter.

    A subclass gives `select`, `plot` and `words`; the other methods are made of these.

    declares:
        needs: the results that `select` is given, in that order.
    """

    kind: ClassVar[str] = "figure"
    declares: ClassVar[Mapping[str, Any]] = {"needs": ()}

    @abstractmethod
    def select(self, *frames: pd.DataFrame, study: StudyFacts) -> Selection | None:
        """What is drawn, or None (or no rows) where the study ran nothing of it.

        Args:
            *frames: one frame a name in ``needs``; each has its key columns, and may be empty.
            study: names, comparisons and data of the study.
        """

    @abstractmethod
    def plot(self, selection: Selection, study: StudyFacts) -> Canvas:
        """The figure of a selection that has rows, without heading."""

    @abstractmethod
    def words(self, selection: Selection, study: StudyFacts) -> tuple[str, str]:
        """The caption of such a selection, and in words what one sees."""

    def render(self, *frames: pd.DataFrame, paths: Paths, study: StudyFacts) -> Caption | None:
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

    def draw(self, *frames: pd.DataFrame, paths: Paths, study: StudyFacts) -> None:
        """Save the figure under each path; arguments as in `render`."""
        self.render(*frames, paths=paths, study=study)

    def describe(self, *frames: pd.DataFrame, study: StudyFacts) -> Caption | None:
        """Title, caption and alternative text; None where nothing ran."""
        return self.render(*frames, paths=(), study=study)

    def ran(self, *frames: pd.DataFrame, study: StudyFacts) -> bool:
        """Whether the study ran anything that it shows; the page leaves it out where not."""
        return self.describe(*frames, study=study) is not None
