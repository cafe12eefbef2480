"""A table as LaTeX (booktabs), as .csv with unrounded numbers, and for the page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
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
_FITTED = r"\resizebox{\ifdim\width>\linewidth \linewidth\else\width\fi}{!}{%"


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


@dataclass(frozen=True)
class TableDocument:
    """A table ready to be written.

    Attributes:
        slug: file stem without ``table_``.
        caption: what it shows, the interval's kind and n; opens with SIMULATED where that holds.
        notes: what each mark means, which seeds diverged.
        data: the unrounded numbers, one row a line of the table, for the .csv twin.
        ran: whether the study ran any of its rows; the page leaves a table out where it did not.
        kept: in LaTeX, where there are more columns than `widest`, this many first ones are
            repeated in each of several floats.
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
    kept: int = 1
    widest: int = 12
    simulated: bool = False

    @property
    def length(self) -> int:
        """The number of its rows."""
        return sum(len(panel.rows) for panel in self.panels)

    @property
    def is_long(self) -> bool:
        """Whether it is folded where it is read on a screen."""
        return self.length > _LONG

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Runs of columns that stand under one header, as (header, number of columns)."""
        headers = groupby(column.group for column in self.columns)
        return [(header, len(list(columns))) for header, columns in headers]

    @property
    def has_groups(self) -> bool:
        """Whether any column stands under a shared header."""
        return any(column.group for column in self.columns)


def write(table: TableDocument, tex_path: Path | str, csv_path: Path | str) -> None:
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
    floats = [(part, panels) for part in _narrowed(table) for panels in _floats(part)]
    blocks = ["% needs \\usepackage{booktabs,graphicx}"]
    for i, (part, panels) in enumerate(floats):
        blocks.append(_float(part, panels, continued=i > 0, last=i == len(floats) - 1))
    return "\n".join(blocks) + "\n"


def _narrowed(table: TableDocument) -> Iterator[TableDocument]:
    """The table with as many columns as a page holds, the first ones repeated in each part."""
    rest = list(range(table.kept, len(table.columns)))
    parts = -(-len(rest) // (table.widest - table.kept)) or 1
    for i in range(parts):
        part = rest[i * len(rest) // parts : (i + 1) * len(rest) // parts]
        chosen = [*range(table.kept), *part]
        yield replace(
            table,
            columns=[table.columns[c] for c in chosen],
            panels=[
                replace(panel, rows=[tuple(row[c] for c in chosen) for row in panel.rows])
                for panel in table.panels
            ],
        )


def _floats(table: TableDocument) -> Iterator[list[Panel]]:
    panels = table.panels or [Panel("", [])]
    heights = [2 + sum(_height(row) for row in panel.rows) for panel in panels]
    count = -(-sum(heights) // _LINES_PER_FLOAT)
    share = sum(heights) / count
    batch: list[Panel] = []
    reached = 0.0
    for panel, height in zip(panels, heights, strict=True):
        if batch and reached + height / 2 > share:
            yield batch
            batch, reached = [], reached - share
        batch.append(panel)
        reached += height
    yield batch


def _float(table: TableDocument, panels: list[Panel], continued: bool, last: bool) -> str:
    caption = f"{table.title}, continued." if continued else table.caption
    aligns = "".join(column.align for column in table.columns)
    lines = [
        r"\begin{table}[!htbp]",
        *([r"\addtocounter{table}{-1}"] if continued else []),
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        *([] if continued else [rf"\label{{tab:{table.slug.replace('_', '-')}}}"]),
        rf"\{table.size}",
        rf"\setlength{{\tabcolsep}}{{{_GAPS.get(table.size, 2.5)}pt}}",
        _FITTED,
        rf"\begin{{tabular}}{{@{{}}{aligns}@{{}}}}",
        r"\toprule",
        *_header(table),
        r"\midrule",
        *_body(table, panels),
        r"\bottomrule",
        r"\end{tabular}}",
        *(_notes(table.notes) if last else []),
        r"\end{table}",
    ]
    return "\n".join(lines)


def _header(table: TableDocument) -> list[str]:
    lines = []
    if table.has_groups:
        cells, rules, start = [], [], 1
        for title, width in table.groups:
            if title:
                cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(title)}}}")
                rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
            else:
                cells += [""] * width
            start += width
        lines = [" & ".join(cells) + r" \\", " ".join(rules)]
    return lines + _lines(tuple(column.header for column in table.columns), table.columns)


def _body(table: TableDocument, panels: list[Panel]) -> list[str]:
    width, lines = len(table.columns), []
    wraps = any(column.align.startswith("p") for column in table.columns)
    for i, panel in enumerate(panels):
        if i:
            lines.append(r"\addlinespace")
        if panel.title:
            title = rf"\textit{{{escape(panel.title)}}}"
            lines.append(rf"\multicolumn{{{width}}}{{@{{}}l}}{{{title}}} \\")
        for j, row in enumerate(panel.rows):
            if j and wraps:
                lines.append(r"\addlinespace")
            lines += _lines(row, table.columns)
    if not any(panel.rows for panel in panels):
        lines.append(
            rf"\multicolumn{{{width}}}{{@{{}}l}}{{No condition of this table was run.}} \\"
        )
    return lines


def _lines(row: tuple[str, ...], columns: list[Column]) -> list[str]:
    height = _height(row)
    cells = [cell.split("\n") + [""] * height for cell in row]
    lines = []
    for i in range(height):
        line = " & ".join(
            _cell(cell[i], column, small=i > 0) for cell, column in zip(cells, columns, strict=True)
        )
        lines.append(line + (_END if i == height - 1 else _END + "[-1pt]"))
    return lines


def _cell(text: str, column: Column, small: bool) -> str:
    cell = escape(text)
    if not cell:
        return ""
    if column.align.startswith("p"):
        return rf"\raggedright {cell}"
    return rf"{{\scriptsize {cell}}}" if small else cell


def _height(row: tuple[str, ...]) -> int:
    return max(cell.count("\n") + 1 for cell in row)


def _notes(notes: list[str]) -> list[str]:
    if not notes:
        return []
    text = " ".join(escape(note) for note in notes)
    return [rf"\par\smallskip\parbox{{\linewidth}}{{\scriptsize\raggedright {text}}}"]
