"""The report rendered: a page that opens offline and loads nothing, Markdown, and plain text."""

import base64
import re
import struct
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from orla import catalogue
from orla.reports.numbers import bind_units, number
from orla.reports.paper import load
from orla.reports.report import Report
from orla.reports.tables.heldout import runs
from orla.reports.tables.shared import FEW, FEW_UPDATES
from orla.reports.words import NOT_RUN, OUTCOME_SIGNS

# Chapters on the main comparison: the page opens with the first figure of the first that has one.
_LEAD_CHAPTERS = ("cadence", "by_pair", "drift")
_INDEX = re.compile(r"(ΔW|W|g|G|u)_(hh|out|ih|past|imm|full|1)")


def page_html(report: Report, pictures: Mapping[str, Path | str]) -> str:
    """The page as HTML, with the figures' .png files by name."""
    figures, results = dict(_figures_with_pictures(report, pictures)), report.results
    chapters = {name: part.part.chapter for name, part in catalogue.parts("figure").items()}
    leads = [name for c in _LEAD_CHAPTERS for name in figures if chapters[name] == c]
    lead = figures.pop(leads[0]) if leads and report.opening.quotes_gaps else None
    return report.render(
        "page.html",
        {"rich": rich_html, "number": number},
        lead=lead,
        chapters=list(report.chapters(figures)),
        account=report.account,
        runs=list(runs(results.get("heldout", pd.DataFrame()), report.study)),
        few=FEW,
        few_updates=FEW_UPDATES,
        remarks=[remark["text"] for remark in load().document["remarks"] if report.claims],
        details=report.provenance[1],
        signs=OUTCOME_SIGNS,
        not_run=NOT_RUN,
    )


def rich_html(text: str) -> Markup:
    """Text as HTML: escaped, line feeds as breaks, W_hh and its like with an index."""
    html = _INDEX.sub(r"\1<sub>\2</sub>", str(escape(bind_units(text))))
    return Markup(html.replace("\n", "<br>"))


def _figures_with_pictures(
    report: Report, pictures: Mapping[str, Path | str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures that have a picture and rows; one whose table has no rows is left out."""
    blank = {name for name, table in report.tables.items() if not table.ran}
    for name, part in catalogue.parts("figure").items():
        results = report.needed_results(part) if name in pictures and name not in blank else None
        if results is not None and (text := part().render(*results, study=report.study)):
            data = Path(pictures[name]).read_bytes()
            width, height = struct.unpack(">II", data[16:24])  # where every PNG has its size
            source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
            size = {"width": width, "height": height}
            yield name, {"name": name, "source": source, **size, "text": text}


def findings_markdown(report: Report) -> str:
    """The findings of one run, as Markdown."""
    return report.render(
        "findings.md.jinja",
        {"cell": _escape, "anchor": _anchor},
        tag=" (SIMULATED)" if report.study.simulated else "",
        tables=report.visible_tables,
    )


def _escape(text: str) -> str:
    """Text that breaks no row of a Markdown table and is taken for no emphasis."""
    plain = str(text).replace("\\", "\\\\").replace("|", r"\|").replace("*", r"\*")
    return " ".join(plain.replace("_", r"\_").replace("<", "&lt;").split("\n"))


def _anchor(heading: str) -> str:
    """Where a link to a heading leads, by GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


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
        outcome, amendment = line["outcome"], " (amended)" * bool(line["amended"])
        lines += wrap(f"{OUTCOME_SIGNS.get(outcome, ' ')} {line['title']}{amendment}")
        size = "" if outcome == "untestable" else f"{line['estimate']}, ".replace("\u00a0", " ")
        criterion = f"asked: {line['threshold']}, n = {line['n']}"
        lines += wrap(f"{line['words']}: {size}{criterion}", initial_indent="  ")
        lines += wrap("" if outcome == "supported" else line["reason"], initial_indent="  ")
    absent = [line["title"] for line in report.verdicts if line["words"] == NOT_RUN]
    if absent:
        titles = "; ".join(dict.fromkeys(absent))
        lines += wrap(f"{OUTCOME_SIGNS['untestable']} {NOT_RUN} ({len(absent)}): {titles}")
    ends = [*filter(None, [report.account]), *([f"report: {page}"] if page else [])]
    return "\n".join([*lines, *([""] if ends else []), *ends]) + "\n"
