"""The page: one self-contained HTML file that opens offline and loads nothing."""

import base64
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from orla import catalogue
from orla.reports import words
from orla.reports.numbers import bind_units, number
from orla.reports.paper import load
from orla.reports.recoveries import runs
from orla.reports.report import Report
from orla.reports.tables.shared import FEW, FEW_UPDATES

# Chapters on the main comparison: the page opens with the first figure of the first that has one.
_LEADING = ("cadence", "by_pair", "drift")
_INDEXED = re.compile(r"(ΔW|W|g|G|u)_(hh|out|ih|past|imm|full|1)")


def page_html(report: Report, pictures: Mapping[str, Path | str]) -> str:
    """The page as HTML, with the figures' .png files by name."""
    figures, results = dict(_figures_with_pictures(report, pictures)), report.results
    chapters = {name: part.part.chapter for name, part in catalogue.parts("figure").items()}
    leads = [name for c in _LEADING for name in figures if chapters[name] == c]
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
        signs=words.OUTCOME_SIGNS,
        not_run=words.NOT_RUN,
    )


def rich_html(text: str) -> Markup:
    """Text as HTML: escaped, line feeds as breaks, W_hh and its like with an index."""
    html = _INDEXED.sub(r"\1<sub>\2</sub>", str(escape(bind_units(text))))
    return Markup(html.replace("\n", "<br>"))


def _figures_with_pictures(
    report: Report, pictures: Mapping[str, Path | str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures that have a picture and something to show, less those whose table has none."""
    blank = {name for name, table in report.tables.items() if not table.ran}
    for name, part in catalogue.parts("figure").items():
        needed = report.needed_results(part) if name in pictures and name not in blank else None
        if needed is not None and (text := part().render(*needed, study=report.study)):
            data = Path(pictures[name]).read_bytes()
            width, height = struct.unpack(">II", data[16:24])  # where every PNG has its size
            source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
            size = {"width": width, "height": height}
            yield name, {"name": name, "source": source, **size, "text": text}
