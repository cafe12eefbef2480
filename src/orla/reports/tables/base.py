"""The base class of tables: parts that make a document from the results that they need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from orla.catalogue import Part
from orla.reports.study import StudyFacts
from orla.reports.table import TableDocument


class Table(Part, ABC):
    """A table of the report. Its class statement names it, its title (label) and chapter.

    declares:
        needs: the results that `build` is given, in that order.
        paper: the table of the paper whose rows it shows, run or not.
    """

    kind: ClassVar[str] = "table"
    declares: ClassVar[Mapping[str, Any]] = {"needs": (), "paper": ""}

    @abstractmethod
    def build(self, *needed: pd.DataFrame, study: StudyFacts) -> TableDocument:
        """The table, from the results it needs.

        Args:
            *needed: one frame a name in ``needs``; each has its key columns, and may be empty.
            study: names, comparisons and data of the study.
        """

    def document(self, study: StudyFacts, caption: str, **given: Any) -> TableDocument:
        """A document with this table's name and title; its caption says SIMULATED where it holds.

        Args:
            study: names, comparisons and data of the study.
            caption: what it shows.
            **given: further fields of `TableDocument`; ``data`` says of which tasks it is.
        """
        study = study.of(given.get("data", pd.DataFrame()))
        return TableDocument(
            slug=self.part.name,
            title=self.part.label,
            caption=study.prefix + caption,
            simulated=study.simulated,
            **given,
        )
