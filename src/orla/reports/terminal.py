"""The answer and the verdicts as plain text, for the end of a run."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pandas as pd

from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.verdicts import VerdictLine, verdict_lines
from orla.reports.words import OUTCOME_SIGNS

_HEADER = ("", "registration", "verdict", "estimate", "threshold", "n")
_LEAST_TITLE = 18


def terminal(report: Report, width: int | None = None, page: Path | str | None = None) -> str:
    """Data, answer, verdicts with the reason of each that is not supported, and the account.

    Args:
        report: what is shown; SIMULATED is said first where that holds.
        width: columns of the terminal; its own width (100 where there is none) by default.
        page: where the HTML page lies, named in the last line.
    """
    answer = " ".join(report.opening.answer.sentences)
    return _text(report.verdicts, report.study, width, answer, report.account, page)


def verdict_table(
    verdicts: pd.DataFrame,
    study: StudyFacts,
    width: int | None = None,
    report: Path | str | None = None,
) -> str:
    """The verdicts of results/verdicts alone; arguments as in `terminal`."""
    return _text(verdict_lines(verdicts, study), study, width, page=report)


def _text(
    verdicts: list[VerdictLine],
    study: StudyFacts,
    width: int | None,
    answer: str = "",
    account: str = "",
    page: Path | str | None = None,
) -> str:
    width = width or shutil.get_terminal_size((100, 24)).columns
    lines = [f"data: {study.data}"]
    if study.simulated:
        lines += textwrap.wrap(
            "SIMULATED sessions: the verdicts show that the study works, not what the brain does.",
            width,
        )
    lines += ["", *textwrap.wrap(answer, width), *([""] if answer else [])]
    lines += _layout(verdicts, width) or ["No registration has been judged yet."]
    ends = [account, f"report: {page}" if page is not None else ""]
    return "\n".join([*lines, *([""] if any(ends) else []), *filter(None, ends)]) + "\n"


def _layout(verdicts: list[VerdictLine], width: int) -> list[str]:
    rows = [_cells(line) for line in verdicts]
    widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
    rest = sum(widths) - widths[1] + 2 * 5
    widths[1] = max(_LEAST_TITLE, min(widths[1], width - rest))
    lines = [_line(_HEADER, widths), _line(tuple("-" * w for w in widths), widths)]
    for verdict, cells in zip(verdicts, rows, strict=True):
        first, *more = textwrap.wrap(cells[1], widths[1]) or [""]
        lines.append(_line((cells[0], first, *cells[2:]), widths))
        lines += [_line(("", title, "", "", "", ""), widths) for title in more]
        why = "" if verdict.outcome == "supported" else verdict.reason
        indent = {"initial_indent": "   ", "subsequent_indent": "   "}
        lines += textwrap.wrap(why, max(width - 3, 20), **indent)
    return lines if rows else []


def _cells(line: VerdictLine) -> tuple[str, ...]:
    return (
        OUTCOME_SIGNS.get(line.outcome, " "),
        line.title + (" (amended)" if line.amended else ""),
        line.words,
        line.estimate.replace("\u00a0", " "),
        line.threshold,
        line.n,
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(size) for cell, size in zip(cells, widths, strict=True)).rstrip()
