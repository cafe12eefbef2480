"""The answer and the verdicts as plain text, for the end of a run."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

from orla.reports.report import Report
from orla.reports.verdicts import VerdictLine
from orla.reports.words import OUTCOME_SIGNS

_HEADER = ("", "registration", "verdict", "estimate", "threshold", "n")
_LEAST_TITLE = 18
_SIMULATED = "SIMULATED sessions: the verdicts show that the study works, not what the brain does."


def terminal(report: Report, width: int | None = None, page: Path | str | None = None) -> str:
    """Data, answer, verdicts with the reason of each that is not supported, and the account.

    Args:
        report: what is shown; SIMULATED is said first where that holds.
        width: columns of the terminal; its own width (100 where there is none) by default.
        page: where the HTML page lies, named in the last line.
    """
    width = width or shutil.get_terminal_size((100, 24)).columns
    lines = [f"data: {report.study.data}"]
    lines += textwrap.wrap(_SIMULATED, width) if report.study.simulated else []
    if drift := report.opening.background.get("The drift"):
        lines += textwrap.wrap(f"drift: {drift}", width)
    lines += ["", *textwrap.wrap(" ".join(report.opening.sentences), width)]
    for sentence in report.opening.further:
        lines += textwrap.wrap(f"- {sentence}", width, subsequent_indent="  ")
    lines.append("")
    lines += (
        _table(report.verdicts, width)
        if report.verdicts
        else ["No registration has been judged yet."]
    )
    ends = [*filter(None, [report.account]), *([f"report: {page}"] if page else [])]
    return "\n".join([*lines, *([""] if ends else []), *ends]) + "\n"


def _table(verdicts: list[VerdictLine], width: int) -> Iterator[str]:
    rows = [
        (
            OUTCOME_SIGNS.get(line.outcome, " "),
            line.title + (" (amended)" if line.amended else ""),
            line.words,
            line.estimate.replace("\u00a0", " "),
            line.threshold,
            line.n,
        )
        for line in verdicts
    ]
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    rest = sum(widths) - widths[1] + 2 * 5
    widths[1] = max(_LEAST_TITLE, min(widths[1], width - rest))

    def line(*cells: str) -> str:
        padded = (cell.ljust(size) for cell, size in zip(cells, widths, strict=False))
        return "  ".join(padded).rstrip()

    yield from (line(*_HEADER), line(*("-" * size for size in widths)))
    for verdict, (sign, title, *cells) in zip(verdicts, rows, strict=True):
        first, *more = textwrap.wrap(title, widths[1]) or [""]
        yield line(sign, first, *cells)
        yield from (line("", part) for part in more)
        why = "" if verdict.outcome == "supported" else verdict.reason
        yield from (f"   {part}" for part in textwrap.wrap(why, max(width - 3, 20) - 3))
