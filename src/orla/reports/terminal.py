"""The answer and the verdicts as plain text, for the end of a run."""

import textwrap
from functools import partial
from pathlib import Path

from orla.reports.report import Report
from orla.reports.words import NOT_RUN, OUTCOME_SIGNS

_SIMULATED = "SIMULATED sessions: the verdicts show that the study works, not what the brain does."


def terminal_text(report: Report, width: int, page: Path | str | None = None) -> str:
    """Data, answer, verdicts with the reason of each that is not supported, and the account."""
    wrap = partial(textwrap.wrap, width=width, subsequent_indent="  ")
    lines = [f"data: {report.study.data}"]
    lines += textwrap.wrap(_SIMULATED, width) if report.study.simulated else []
    if drift := report.opening.background.get("The drift"):
        lines += textwrap.wrap(f"drift: {drift}", width)
    lines += ["", *textwrap.wrap(" ".join(report.opening.sentences), width)]
    for sentence in report.opening.further:
        lines += wrap(f"- {sentence}")
    lines += [""] * bool(report.verdicts)
    for line in report.verdicts:
        if line["words"] == NOT_RUN:
            continue
        outcome, amended = line["outcome"], " (amended)" * bool(line["amended"])
        lines += wrap(f"{OUTCOME_SIGNS.get(outcome, ' ')} {line['title']}{amended}")
        size = "" if outcome == "untestable" else f"{line['estimate']}, ".replace("\u00a0", " ")
        asked = f"asked: {line['threshold']}, n = {line['n']}"
        lines += wrap(f"{line['words']}: {size}{asked}", initial_indent="  ")
        lines += wrap("" if outcome == "supported" else line["reason"], initial_indent="  ")
    absent = [line["title"] for line in report.verdicts if line["words"] == NOT_RUN]
    if absent:
        titles = "; ".join(dict.fromkeys(absent))
        lines += wrap(f"{OUTCOME_SIGNS['untestable']} {NOT_RUN} ({len(absent)}): {titles}")
    ends = [*filter(None, [report.account]), *([f"report: {page}"] if page else [])]
    return "\n".join([*lines, *([""] if ends else []), *ends]) + "\n"
