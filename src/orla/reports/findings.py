"""Findings as Markdown, from the results of one run: every figure comes out of a table."""

import re

from orla.reports.report import Report
from orla.reports.table import Column, TableDocument


def findings_markdown(report: Report) -> str:
    """The findings of one run, as Markdown."""
    return report.render(
        "findings.md.jinja",
        {"cell": _escape, "header": _header, "heading": _heading, "anchor": _anchor},
        tag=" (SIMULATED)" if report.study.simulated else "",
        tables=report.shown,
    )


def _escape(text: str) -> str:
    """Text that breaks no row of a Markdown table and is taken for no emphasis."""
    plain = str(text).replace("\\", "\\\\").replace("|", r"\|").replace("*", r"\*")
    return " ".join(plain.replace("_", r"\_").replace("<", "&lt;").split("\n"))


def _header(column: Column) -> str:
    """A column's header, after the one that it stands under."""
    return f"{column.group}: {column.header}" if column.group else column.header


def _heading(table: TableDocument) -> str:
    """A table's title, marked where it is simulated."""
    return table.title + (" (SIMULATED)" if table.simulated else "")


def _anchor(heading: str) -> str:
    """Where a link to a heading leads, by GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
