"""A table as LaTeX (booktabs), as .csv with unrounded numbers, and for the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path

import pandas as pd

from orla.files import atomic
from orla.reports.latex import escape

# LaTeX loses a float that is longer than a page, so longer tables continue in further floats.
_LINES_PER_FLOAT = 44
# Longer tables are folded where they are read on a screen.
_LONG = 12
# Not the double backslash, because \raggedright redefines it in a p column.
_END = r" \tabularnewline"
# Half of the gap between columns, in points, where it is not the usual one.
_GAPS = {"scriptsize": 1.5}
# Long names of a user's own parts make a table too wide for the page: it is scaled to the width.
_FIT_TO_LINE = r"\resizebox{\ifdim\width>\linewidth \linewidth\else\width\fi}{!}{%"
_NOTES = r"\par\smallskip\parbox{{\linewidth}}{{\scriptsize\raggedright {}}}"


@dataclass(frozen=True)
class Column:
    """A column: its header, alignment (l, r, c or p{width}) and the header it stands under."""

    header: str
    align: str = "l"
    group: str = ""


@dataclass(frozen=True)
class Panel:
    """Rows under one heading; a cell may hold two lines, parted by a line feed."""

    title: str
    rows: Sequence[tuple[str, ...]]

    @property
    def text(self) -> str:
        return "".join([*(cell for row in self.rows for cell in row), self.title])


@dataclass(frozen=True)
class TableDocument:
    """A table ready to be written.

    Attributes:
        slug: file stem without ``table_``.
        caption: what it shows, the interval's kind and n; opens with SIMULATED where that holds.
        notes: what each mark means, which seeds diverged.
        data: the unrounded numbers, one row a line of the table, for the .csv twin.
        ran: whether the study ran any of its rows; the page leaves a table out where it did not.
        fixed_columns: how many first columns each float repeats, where LaTeX needs several floats
            because there are more columns than `widest`.
    """

    slug: str
    title: str
    caption: str
    columns: list[Column]
    panels: list[Panel]
    notes: list[str] = field(default_factory=list)
    data: pd.DataFrame = field(default_factory=pd.DataFrame)
    size: str = "footnotesize"
    ran: bool = True
    fixed_columns: int = 1
    widest: int = 12
    simulated: bool = False

    @property
    def length(self) -> int:
        return sum(len(panel.rows) for panel in self.panels)

    @property
    def is_folded(self) -> bool:
        """Whether it is folded where it is read on a screen."""
        return self.length > _LONG

    @property
    def column_groups(self) -> list[tuple[str, int]]:
        """Runs of columns that stand under one header, as (header, number of columns)."""
        headers = groupby(column.group for column in self.columns)
        return [(header, len(list(columns))) for header, columns in headers]

    @property
    def has_groups(self) -> bool:
        return any(column.group for column in self.columns)

    def select_columns(self, columns: Sequence[int]) -> "TableDocument":
        """The table with some of its columns, by their numbers."""
        panels = [
            Panel(panel.title, [tuple(row[c] for c in columns) for row in panel.rows])
            for panel in self.panels
        ]
        return replace(self, columns=[self.columns[c] for c in columns], panels=panels)


def write_table(table: TableDocument, tex_path: Path | str, csv_path: Path | str) -> None:
    """Write a table as LaTeX, which needs the booktabs package alone, and its .csv twin.

    Raises:
        OrlaError: the disk is full.
    """
    with atomic(Path(tex_path)) as path:
        path.write_text(to_latex(table), encoding="utf-8")
    with atomic(Path(csv_path)) as path:
        table.data.to_csv(path, index=False, lineterminator="\n")


def to_latex(table: TableDocument) -> str:
    """The table as one ``table`` float, or several where one page would not hold it."""
    floats = [(part, panels) for part in _split_columns(table) for panels in _split_panels(part)]
    blocks = [_float_latex(*parts, i > 0, i == len(floats) - 1) for i, parts in enumerate(floats)]
    return "\n".join(["% needs \\usepackage{booktabs,graphicx}", *blocks]) + "\n"


def _split_columns(table: TableDocument) -> Iterator[TableDocument]:
    """The table with as many columns as a page holds, the first ones repeated in each part."""
    rest = list(range(table.fixed_columns, len(table.columns)))
    parts = -(-len(rest) // (table.widest - table.fixed_columns)) or 1
    for i in range(parts):
        part = rest[i * len(rest) // parts : (i + 1) * len(rest) // parts]
        yield table.select_columns([*range(table.fixed_columns), *part])


def _split_panels(table: TableDocument) -> Iterator[list[Panel]]:
    """The panels in batches that fit on a page each."""
    panels = table.panels or [Panel("", [])]
    heights = [2 + sum(map(_line_count, panel.rows)) for panel in panels]
    count = -(-sum(heights) // _LINES_PER_FLOAT)
    share = sum(heights) / count
    batch, batch_height = [], 0.0
    for panel, height in zip(panels, heights, strict=True):
        if batch and batch_height + height / 2 > share:
            yield batch
            batch, batch_height = [], batch_height - share
        batch.append(panel)
        batch_height += height
    yield batch


def _float_latex(table: TableDocument, panels: list[Panel], is_continued: bool, last: bool) -> str:
    caption = f"{table.title}, continued." if is_continued else table.caption
    aligns = "".join(column.align for column in table.columns)
    lines = [
        r"\begin{table}[!htbp]",
        *([r"\addtocounter{table}{-1}"] if is_continued else []),
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        *([] if is_continued else [rf"\label{{tab:{table.slug.replace('_', '-')}}}"]),
        rf"\{table.size}",
        rf"\setlength{{\tabcolsep}}{{{_GAPS.get(table.size, 2.5)}pt}}",
        _FIT_TO_LINE,
        rf"\begin{{tabular}}{{@{{}}{aligns}@{{}}}}",
        r"\toprule",
        *_header_lines(table),
        r"\midrule",
        *_body_lines(table, panels),
        r"\bottomrule",
        r"\end{tabular}}",
        *([_NOTES.format(" ".join(map(escape, table.notes)))] if last and table.notes else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


def _header_lines(table: TableDocument) -> list[str]:
    cells, rules, end = [], [], 0
    for title, width in table.column_groups:
        end += width
        if title:
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(title)}}}")
            rules.append(rf"\cmidrule(lr){{{end - width + 1}-{end}}}")
        else:
            cells += [""] * width
    lines = [" & ".join(cells) + r" \\", " ".join(rules)] if rules else []
    return lines + _row_lines(tuple(column.header for column in table.columns), table.columns)


def _body_lines(table: TableDocument, panels: list[Panel]) -> list[str]:
    def across(text: str) -> str:
        return rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{{text}}} \\"

    lines = []
    wraps = any(column.align.startswith("p") for column in table.columns)
    for i, panel in enumerate(panels):
        if i:
            lines.append(r"\addlinespace")
        if panel.title:
            lines.append(across(rf"\textit{{{escape(panel.title)}}}"))
        for j, row in enumerate(panel.rows):
            if j and wraps:
                lines.append(r"\addlinespace")
            lines += _row_lines(row, table.columns)
    if not any(panel.rows for panel in panels):
        lines.append(across("No condition of this table was run."))
    return lines


def _row_lines(row: tuple[str, ...], columns: list[Column]) -> list[str]:
    """A row, in as many lines as its longest cell has."""
    texts = zip_longest(*(cell.split("\n") for cell in row), fillvalue="")
    lines = [" & ".join(map(_cell, line, columns, [i] * len(row))) for i, line in enumerate(texts)]
    return [f"{line}{_END}[-1pt]" for line in lines[:-1]] + [lines[-1] + _END]


def _cell(text: str, column: Column, line: int) -> str:
    """One line of a cell; further lines are set smaller."""
    cell = escape(text)
    if cell and column.align.startswith("p"):
        return rf"\raggedright {cell}"
    return rf"{{\scriptsize {cell}}}" if cell and line else cell


def _line_count(row: tuple[str, ...]) -> int:
    return max(cell.count("\n") + 1 for cell in row)
