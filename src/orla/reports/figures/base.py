"""The base class of figures: parts that draw and describe the results that they need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from orla.catalogue import Part
from orla.reports.study import StudyFacts

Paths = Sequence[Path | str]


@dataclass(frozen=True)
class Caption:
    """Title, caption and alternative text of a figure."""

    title: str
    caption: str
    alt: str


class Figure(Part, ABC):
    """A figure of the report. Its class statement names it, its title (label) and chapter.

    declares:
        needs: the results that `draw` and `describe` are given, in that order.
    """

    kind: ClassVar[str] = "figure"
    declares: ClassVar[Mapping[str, Any]] = {"needs": ()}

    @abstractmethod
    def draw(self, *needed: pd.DataFrame, paths: Paths, study: StudyFacts) -> None:
        """Draw the figure and save it under each path.

        Args:
            *needed: one frame a name in ``needs``; each has its key columns, and may be empty.
            paths: where to save (.pdf, .png).
            study: names, comparisons and data of the study.
        """

    @abstractmethod
    def describe(self, *needed: pd.DataFrame, study: StudyFacts) -> Caption:
        """The caption and the alternative text; arguments as in `draw`."""

    def ran(self, *needed: pd.DataFrame, study: StudyFacts) -> bool:
        """Whether the study ran anything that it shows; the page leaves it out where not."""
        return True

    def captioned(self, study: StudyFacts, caption: str, alt: str) -> Caption:
        """A caption with this figure's title; it says SIMULATED where that holds."""
        return Caption(self.part.label, study.prefix + caption, alt)
