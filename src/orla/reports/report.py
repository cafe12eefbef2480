"""The report of one study: its tables, verdicts, claims and opening, each made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from orla import catalogue
from orla.catalogue import Part
from orla.reports import claims, opening, provenance
from orla.reports.chapters import CARDS, chapter, place
from orla.reports.study import StudyFacts
from orla.reports.table import TableDocument, write
from orla.reports.verdicts import VerdictLine, verdict_lines
from orla.reports.words import NONE


@dataclass(frozen=True)
class Report:
    """What page, findings, LaTeX and terminal render.

    Attributes:
        results: results by file stem; what needs an absent one is left out.
        study: names, comparisons and data of the study.
        origin: provenance of the verdicts, a nested dict: code, versions, lock hash, ...
        unrun: title of each chapter that was not run, with the command that runs it.
        account: one line on what the run cost, or "".
    """

    results: Mapping[str, pd.DataFrame]
    study: StudyFacts
    origin: Mapping[str, Any] = field(default_factory=dict)
    unrun: Sequence[tuple[str, str]] = ()
    account: str = ""

    def needed(self, part: type[Part]) -> list[pd.DataFrame] | None:
        """The results that a table or figure needs; None where one is absent."""
        names = part.part.more["needs"]
        return [self.results[name] for name in names] if {*names} <= {*self.results} else None

    @cached_property
    def tables(self) -> dict[str, TableDocument]:
        """Every table of the catalogue whose results there are, in the order of the page."""
        parts = catalogue.parts("table")
        order = sorted(parts, key=lambda name: place(parts[name].part.chapter))
        return {
            name: parts[name]().build(*needed, study=self.study)
            for name in order
            if (needed := self.needed(parts[name])) is not None
        }

    @cached_property
    def shown(self) -> list[TableDocument]:
        """The tables that page and findings show: those of which something was run."""
        parts = catalogue.parts("table")
        return [
            table
            for name, table in self.tables.items()
            if parts[name].part.chapter != CARDS and table.ran and table.length
        ]

    @cached_property
    def verdicts(self) -> list[VerdictLine]:
        """The registrations' verdicts, the weightiest first."""
        return verdict_lines(self.results.get("verdicts"), self.study)

    @cached_property
    def claims(self) -> list[claims.ClaimLine]:
        """The paper's claims beside our figures; [] where its numbers apply to no result."""
        apply = claims.apply(self.results, self.study)
        return claims.lines(self.results, self.study) if apply else []

    @cached_property
    def opening(self) -> opening.Opening:
        """Title, answer and background."""
        return opening.opening(self.results, self.verdicts, self.study)

    @property
    def facts(self) -> dict[str, Any]:
        """What the templates of page and findings both read."""
        results = self.results
        titles = {item["chapter"].title for item in self.chapters()}
        return {
            "study": self.study,
            "partly": self.study.partly_simulated(results.get("heldout")),
            "opening": self.opening,
            "verdicts": self.verdicts,
            "claims": [line for line in self.claims if line.ours],
            "unmeasured": [line for line in self.claims if not line.ours],
            "provenance": provenance.short(self.origin),
            "unrun": [line for line in self.unrun if line[0] not in titles],
        }

    def chapters(self, figures: Mapping[str, Any] = NONE) -> Iterator[dict[str, Any]]:
        """Every chapter that has a table or one of these figures (by name), in order."""
        chapters = {
            kind: {name: part.part.chapter for name, part in catalogue.parts(kind).items()}
            for kind in ("table", "figure")
        }
        tables = {table.slug: table for table in self.shown}
        names = {chapters["table"][slug] for slug in tables}
        names |= {chapters["figure"][figure] for figure in figures}
        for name in sorted(names, key=place):
            yield {
                "name": name,
                "chapter": chapter(name),
                "tables": [t for slug, t in tables.items() if chapters["table"][slug] == name],
                "figures": [f for slug, f in figures.items() if chapters["figure"][slug] == name],
            }

    def write_tables(self, folder: Path | str) -> list[Path]:
        """Write table_NAME.tex and .csv of every table into a folder; the paths are returned.

        Raises:
            OrlaError: the disk is full.
        """
        written = []
        for name, table in self.tables.items():
            paths = [Path(folder) / f"table_{name}.{form}" for form in ("tex", "csv")]
            write(table, *paths)
            written += paths
        return written
