"""The report of one study: its tables, verdicts, claims and opening, each made once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from orla import catalogue
from orla.catalogue import Part
from orla.catalogue.plugins import name_failing_part
from orla.reports import opening
from orla.reports.chapters import CARDS, chapter, chapter_sort_key
from orla.reports.study import StudyFacts
from orla.reports.table import TableDocument, write_table
from orla.reports.verdicts import Verdict, claim_lines, verdict_lines
from orla.reports.words import jinja_templates

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

    def needed_results(self, part: type[Part]) -> list[pd.DataFrame] | None:
        """The results that a table or figure needs; None where one is absent."""
        names = part.part.more["needs"]
        return [self.results[name] for name in names] if {*names} <= {*self.results} else None

    @cached_property
    def tables(self) -> dict[str, TableDocument]:
        """Every table of the catalogue whose results there are, in the order of the page."""
        parts, documents = catalogue.parts("table"), {}
        for name in sorted(parts, key=lambda name: chapter_sort_key(parts[name].part.chapter)):
            table = parts[name]()
            if (results := self.needed_results(parts[name])) is not None:
                with name_failing_part(table):
                    documents[name] = table.build(*results, study=self.study)
        return documents

    @cached_property
    def visible_tables(self) -> list[TableDocument]:
        """The tables that page and findings show: those of which something was run."""
        parts = catalogue.parts("table")
        tables = (table for name, table in self.tables.items() if parts[name].part.chapter != CARDS)
        return [table for table in tables if table.ran and table.length]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The registrations' verdicts, the weightiest first."""
        return verdict_lines(self.results.get("verdicts", pd.DataFrame()), self.study)

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The paper's claims beside our figures; [] where no claim has one."""
        return claim_lines(self.results, self.study)

    @cached_property
    def opening(self) -> opening.Opening:
        """Title, answer and background."""
        return opening.opening(self.results, self.verdicts, self.study)

    @cached_property
    def provenance(self) -> tuple[dict[str, str], dict[str, str]]:
        """The main lines of provenance, and all others.

        Main are the code without its files, a few versions, machine and lock.
        """
        origin = pd.json_normalize(dict(self.origin), sep=", ").iloc[0] if self.origin else {}
        main, others = {}, {}
        for name, value in origin.items():
            head, _, rest = name.partition(", ")
            is_main = head in _MAIN_LINES and not rest.startswith("files")
            text = ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
            lines = main if is_main or (head == "versions" and rest in _MAIN_VERSIONS) else others
            lines[name] = "unknown" if value is None else text
        return main, others

    def render(
        self, template: str, filters: Mapping[str, Callable] | None = None, **facts: Any
    ) -> str:
        """Render a template of this folder, with these facts and the common ones; escape HTML."""
        titles = {item["chapter"].title for item in self.chapters()}
        models = self.results.get("heldout")
        facts |= {
            "study": self.study,
            "partly": models is not None and self.study.simulates(models["task"]).nunique() == 2,
            "opening": self.opening,
            "verdicts": self.verdicts,
            "claims": [line for line in self.claims if line["ours"]],
            "unmeasured": [line for line in self.claims if not line["ours"]],
            "provenance": self.provenance[0],
            "unrun": [line for line in self.unrun if line[0] not in titles],
            "needs": lambda kind, name: catalogue.part(kind, name).part.more["needs"],
        }
        return jinja_templates(filters).get_template(template).render(facts)

    def chapters(self, figures: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Every chapter that has a table or one of these figures (by name), in order."""
        contents: dict[str, dict[str, list]] = {}
        items = [("table", table.slug, table) for table in self.visible_tables]
        items += [("figure", *item) for item in (figures or {}).items()]
        for kind, name, item in items:
            chapter_name = catalogue.part(kind, name).part.chapter
            contents.setdefault(chapter_name, {"table": [], "figure": []})[kind].append(item)
        for name in sorted(contents, key=chapter_sort_key):
            yield {"name": name, "chapter": chapter(name), **contents[name]}

    def write_tables(self, folder: Path | str) -> None:
        """Write table_NAME.tex and .csv of every table into a folder."""
        for name, table in self.tables.items():
            write_table(table, *(Path(folder) / f"table_{name}.{form}" for form in ("tex", "csv")))
