"""The verdict table as plain text, for the end of a run."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import pandas as pd

from orla.reports.study import StudyFacts
from orla.reports.verdicts import folded, outcome_words, sample, threshold, verdict_estimate
from orla.reports.words import OUTCOME_SIGNS

_HEADER = ("", "registration", "verdict", "estimate", "threshold", "n")
_LEAST_TITLE = 18


def verdict_table(
    verdicts: pd.DataFrame,
    study: StudyFacts,
    width: int | None = None,
    report: Path | str | None = None,
) -> str:
    """The verdicts as an aligned plain-text table, with the reason of each that is not supported.

    Args:
        verdicts: results/verdicts: one row a registration.
        study: what the data are called; SIMULATED is said first where that holds.
        width: columns of the terminal; its own width (100 where there is none) by default.
        report: where the HTML report lies, named in the last line.
    """
    width = width or shutil.get_terminal_size((100, 24)).columns
    rows = [_row(row, why, study) for row, why in folded(verdicts, study)]
    lines = _banner(study, width)
    if rows:
        lines += _layout(rows, width)
    else:
        lines.append("No registration has been judged yet.")
    if report is not None:
        lines += ["", f"report: {report}"]
    return "\n".join(lines) + "\n"


def _banner(study: StudyFacts, width: int) -> list[str]:
    lines = [f"data: {study.data}"]
    if study.simulated:
        lines += textwrap.wrap(
            "SIMULATED sessions: the verdicts show that the study works, not what the brain does.",
            width,
        )
    return [*lines, ""]


def _row(row: dict, why: str, study: StudyFacts) -> tuple[tuple[str, ...], str]:
    outcome = str(row["outcome"])
    title = str(row["title"]) + (" (amended)" if row.get("amended") else "")
    cells = (
        OUTCOME_SIGNS.get(outcome, " "),
        title,
        outcome_words(row, study),
        verdict_estimate(row).replace("\u00a0", " "),
        threshold(row["threshold"]),
        sample(row),
    )
    return cells, "" if outcome == "supported" else why


def _layout(rows: list[tuple[tuple[str, ...], str]], width: int) -> list[str]:
    widths = [
        max(len(row[i]) for row in [_HEADER, *(cells for cells, _ in rows)]) for i in range(6)
    ]
    rest = sum(widths) - widths[1] + 2 * 5
    widths[1] = max(_LEAST_TITLE, min(widths[1], width - rest))
    lines = [_line(_HEADER, widths), _line(tuple("-" * w for w in widths), widths)]
    for cells, why in rows:
        titles = textwrap.wrap(cells[1], widths[1]) or [""]
        lines.append(_line((cells[0], titles[0], *cells[2:]), widths))
        lines += [_line(("", title, "", "", "", ""), widths) for title in titles[1:]]
        lines += textwrap.wrap(
            why, max(width - 3, 20), initial_indent="   ", subsequent_indent="   "
        )
    return lines


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(size) for cell, size in zip(cells, widths, strict=True)).rstrip()
