"""The report of one study: its tables, verdicts, claims and opening, each made once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from orla import catalogue
from orla.catalogue import Part
from orla.reports import claims, opening
from orla.reports.chapters import CARDS, chapter, place
from orla.reports.study import StudyFacts
from orla.reports.table import TableDocument, write
from orla.reports.verdicts import Verdict, verdict_lines
from orla.reports.words import templates

_MAIN_LINES = ("code", "cpu_capability", "platform", "threads", "prereg_lock_sha256")
_MAIN_VERSIONS = ("orla", "python", "torch", "numpy")


@dataclass(frozen=True)
class Report:
    """What page, findings, LaTeX and terminal render.

    Attributes:
        results: results by file stem; what needs an absent one is left out.
        study: names, comparisons and data of the study.
        origin: provenance of the verdicts, a nested dict: code, versions, lock hash, ...
        unrun, account: chapters that were not run, each with its command; what the run cost.
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
        return {
            name: parts[name]().build(*needed, study=self.study)
            for name in sorted(parts, key=lambda name: place(parts[name].part.chapter))
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
    def verdicts(self) -> list[Verdict]:
        """The registrations' verdicts, the weightiest first."""
        return verdict_lines(self.results.get("verdicts"), self.study)

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The paper's claims beside our figures; [] where its numbers apply to no result."""
        apply = claims.apply(self.results, self.study)
        return claims.lines(self.results, self.study) if apply else []

    @cached_property
    def opening(self) -> opening.Opening:
        """Title, answer and background."""
        return opening.opening(self.results, self.verdicts, self.study)

    @cached_property
    def provenance(self) -> tuple[dict[str, str], dict[str, str]]:
        """Lines of provenance: code without its files, main versions, machine and lock; and all
        others."""
        origin = pd.json_normalize(dict(self.origin), sep=", ").iloc[0] if self.origin else {}
        lines = {name: _text(value) for name, value in origin.items()}
        main = {name: text for name, text in lines.items() if _is_main(*name.partition(", ")[::2])}
        return main, {name: text for name, text in lines.items() if name not in main}

    def render(
        self, template: str, filters: Mapping[str, Callable] | None = None, **facts: Any
    ) -> str:
        """A template of this folder, with these facts and those of all; HTML is escaped."""
        titles, results = {item["chapter"].title for item in self.chapters()}, self.results
        return (
            templates(filters)
            .get_template(template)
            .render(
                study=self.study,
                partly=self.study.partly_simulated(results.get("heldout")),
                opening=self.opening,
                verdicts=self.verdicts,
                claims=[line for line in self.claims if line["ours"]],
                unmeasured=[line for line in self.claims if not line["ours"]],
                provenance=self.provenance[0],
                unrun=[line for line in self.unrun if line[0] not in titles],
                needs={n: part.part.more["needs"] for n, part in catalogue.parts("table").items()},
                **facts,
            )
        )

    def chapters(self, figures: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Every chapter that has a table or one of these figures (by name), in order."""
        chapters: dict[str, dict[str, list]] = {}
        tables = {table.slug: table for table in self.shown}
        for kind, items in (("table", tables), ("figure", figures or {})):
            parts = catalogue.parts(kind)
            for name, item in items.items():
                contents = chapters.setdefault(
                    parts[name].part.chapter, {"table": [], "figure": []}
                )
                contents[kind].append(item)
        for name in sorted(chapters, key=place):
            tables, figures = chapters[name].values()
            heading = {"name": name, "chapter": chapter(name)}
            yield heading | {"tables": tables, "figures": figures}

    def write_tables(self, folder: Path | str) -> None:
        """Write table_NAME.tex and .csv of every table into a folder."""
        for name, table in self.tables.items():
            write(table, *(Path(folder) / f"table_{name}.{form}" for form in ("tex", "csv")))


def _is_main(head: str, rest: str) -> bool:
    if head == "versions":
        return rest in _MAIN_VERSIONS
    return head in _MAIN_LINES and not rest.startswith("files")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)
