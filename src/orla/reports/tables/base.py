"""The base class of tables: a declaration of rows, panels, cells and notes, which `build` reads."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from orla.catalogue import Part
from orla.reports.cells import Cell, Line, Row
from orla.reports.estimates import guard_notes
from orla.reports.numbers import MISSING, join_lines
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Panel, TableDocument
from orla.reports.tables.shared import mark_notes

# A column of `Table.rows` that holds each row's panel, and stands in no .csv.
PANEL = "panel of the table"


class Contents(NamedTuple):
    """What a table shows: the rows it is of, its panels, and the rows of the .csv twin."""

    rows: pd.DataFrame
    panels: list[Panel]
    records: list[Row]


class Table(Part):
    """A table of the report, by default a panel a condition and a line a row of a result.

    Its class statement names it, its title (label) and chapter, the results that it `needs`, and
    the table of the paper whose rows it shows. What is not usual it overrides.

    Attributes:
        says, papers: the caption, and what it adds in a study that reproduces the paper. Fields:
            {main}, the main comparison; {full}, the paper's full learner; {rates_of}.
        cells: the columns.
        optional: headers or groups of columns that are left out where no line has a number there.
        by, without: columns that set panels apart beside the condition's, such as learner; the one
            of the condition's that does not.
        remarks: the first notes, parted by empty lines.
        quotes: column of the paper's text -> a note on each of its rows that have one.
        layout: further fields of the document.
        empty: whether a study without any line shows the table.
    """

    kind: ClassVar[str] = "table"
    declares: ClassVar[Mapping[str, Any]] = {"needs": (), "paper": ""}
    says: ClassVar[str] = ""
    papers: ClassVar[str] = ""
    cells: ClassVar[Sequence[Cell]] = ()
    optional: ClassVar[Collection[str]] = ()
    by: ClassVar[tuple[str, ...]] = ()
    without: ClassVar[str] = ""
    remarks: ClassVar[str] = ""
    quotes: ClassVar[Mapping[str, str]] = {}
    layout: ClassVar[Mapping[str, Any]] = {}
    empty: ClassVar[bool] = True

    def rows(self, *results: pd.DataFrame, study: StudyFacts) -> pd.DataFrame:
        """The rows to show, of the results that the table needs; each may be empty."""
        return results[0]

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        """A title and its rows for each panel: by the column `PANEL`, by condition, or one."""
        if PANEL in rows:
            for title, group in rows.groupby(PANEL, sort=False):
                yield title, group.drop(columns=PANEL).to_dict("records")
        elif "task" not in rows:
            yield "", rows.to_dict("records")
        else:
            for title, keys, group in study.groups(rows, *self.by, without=self.without):
                yield title, self.panel_rows(keys, group, study)

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        """The rows that a panel shows of its condition's; a panel without rows is left out."""
        return rows.to_dict("records")

    def lines(self, rows: list[Row]) -> list[Row]:
        """A panel's lines, by default a row each."""
        return rows

    def csv_row(self, row: Row, study: StudyFacts) -> Row:
        """A row of the .csv twin, where cells do not give rows of their own."""
        return row

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        """The columns, where they depend on the rows."""
        return self.cells

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        """The caption: `says`, with its fields filled in."""
        says = self.says + (self.papers if study.reproduces else "")
        main = study.comparison_text(study.main)
        full = study.called("learner", load().past_gradient_learner)
        return says.format(main=main, full=full, rates_of=study.rates_of)

    def quoted_remarks(self) -> list[str]:
        """Each of the remarks, and the quotes."""
        remarks = filter(None, map(str.strip, self.remarks.split("\n\n")))
        quotes, paper = self.quotes.items(), load()
        return [*remarks, *(t.format(**row) for n, t in quotes for row in paper.rows_in_text(n))]

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        """What stands under the table: by default remarks, quotes, and what its marks mean."""
        guards = guard_notes(contents.records, contents.panels)
        return [*self.quoted_remarks(), *mark_notes(contents.panels), *guards]

    def csv_table(self, contents: Contents, study: StudyFacts) -> pd.DataFrame:
        """The .csv twin: unrounded rows and the data set."""
        empty = contents.rows.iloc[:0].drop(columns=PANEL, errors="ignore")
        data = pd.DataFrame.from_records(contents.records) if contents.records else empty
        data = data.astype({c: empty[c].dtype for c in data if c in empty})
        simulated = study.simulates(data["task"]) if "task" in data else study.simulated
        data.insert(0, "simulated", simulated)
        data.insert(0, "dataset", study.name)
        return data

    def is_shown(self, contents: Contents, study: StudyFacts) -> bool:
        """Whether the page shows the table."""
        return self.empty or bool(contents.panels)

    def build(self, *results: pd.DataFrame, study: StudyFacts) -> TableDocument:
        """The table, from the results it needs; its caption says SIMULATED where it holds."""
        rows = self.rows(*results, study=study)
        cells = self.columns(rows, study)
        contents = Contents(rows, [], [])
        is_blank = results and all(frame.empty for frame in results)
        for title, group in () if is_blank else self.panels(rows, study):
            lines = [Line(study, row) for row in self.lines(group)]
            texts = [tuple(cell.text(line) for cell in cells) for line in lines]
            if texts:
                contents.panels.append(Panel(title, texts))
            numbers = [n.csv_row for line in lines for cell in cells for n in cell.numbers(line)]
            contents.records.extend(numbers or (self.csv_row(row, study) for row in group))
        data = self.csv_table(contents, study)
        facts = study.narrow_to(data)
        document = TableDocument(
            slug=self.part.name,
            title=self.part.label,
            caption=facts.caption_prefix + join_lines(self.caption(rows, study)),
            simulated=facts.simulated,
            columns=[cell.column for cell in cells],
            panels=contents.panels,
            notes=[join_lines(note) for note in self.notes(contents, study, *results)],
            data=data,
            ran=self.is_shown(contents, study),
            **self.layout | {"fixed_columns": min(self.layout.get("fixed_columns", 1), len(cells))},
        )
        columns = list(enumerate(document.columns))
        blank = {i for i, column in columns if {column.header, column.group} & {*self.optional}}
        if any(row[i] != MISSING for panel in document.panels for row in panel.rows for i in blank):
            return document
        return document.select_columns([i for i, _ in columns if i not in blank])
