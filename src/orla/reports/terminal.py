"""The answer and the verdicts as plain text, for the end of a run."""

import shutil
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from orla.reports.report import Report
from orla.reports.verdicts import Verdict
from orla.reports.words import NOT_RUN, OUTCOME_SIGNS

_SIMULATED = "SIMULATED sessions: the verdicts show that the study works, not what the brain does."


def terminal(report: Report, width: int | None = None, page: Path | str | None = None) -> str:
    """Data, answer, verdicts with the reason of each that is not supported, and the account."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    lines = [f"data: {report.study.data}"]
    lines += textwrap.wrap(_SIMULATED, width) if report.study.simulated else []
    if drift := report.opening.background.get("The drift"):
        lines += textwrap.wrap(f"drift: {drift}", width)
    lines += ["", *textwrap.wrap(" ".join(report.opening.sentences), width)]
    for sentence in report.opening.further:
        lines += textwrap.wrap(f"- {sentence}", width, subsequent_indent="  ")
    if report.verdicts:
        lines += ["", *_verdicts(report.verdicts, width)]
    ends = [*filter(None, [report.account]), *([f"report: {page}"] if page else [])]
    return "\n".join([*lines, *([""] if ends else []), *ends]) + "\n"


def _verdicts(verdicts: list[Verdict], width: int) -> Iterator[str]:
    """Each verdict below its title, with its reason unless it is supported; those not run last."""
    wrap = partial(textwrap.wrap, width=width, subsequent_indent="  ")
    absent = [line["title"] for line in verdicts if line["words"] == NOT_RUN]
    for line in verdicts:
        if line["words"] == NOT_RUN:
            continue
        outcome, amended = line["outcome"], " (amended)" * bool(line["amended"])
        yield from wrap(f"{OUTCOME_SIGNS.get(outcome, ' ')} {line['title']}{amended}")
        size = "" if outcome == "untestable" else f"{line['estimate']}, ".replace("\u00a0", " ")
        asked = f"asked: {line['threshold']}, n = {line['n']}"
        yield from wrap(f"{line['words']}: {size}{asked}", initial_indent="  ")
        yield from wrap("" if outcome == "supported" else line["reason"], initial_indent="  ")
    if absent:
        titles = "; ".join(dict.fromkeys(absent))
        yield from wrap(f"{OUTCOME_SIGNS['untestable']} {NOT_RUN} ({len(absent)}): {titles}")
