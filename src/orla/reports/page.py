"""The page: one self-contained HTML file that opens offline and loads nothing."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from orla import catalogue
from orla.files import atomic
from orla.reports import provenance, words
from orla.reports.numbers import bind, number
from orla.reports.paper import load
from orla.reports.report import Report
from orla.reports.runs import runs
from orla.reports.study import StudyFacts
from orla.reports.tables.shared import FEW, FEW_UPDATES

Pictures = Mapping[str, Path | str]
# Chapters on the main comparison: the page opens with the first figure of the first that has one.
_LEADING = ("cadence", "by_pair", "drift")
_INDEXED = {
    name: f"{name.split('_')[0]}<sub>{name.split('_')[1]}</sub>"
    for name in (
        *("ΔW_hh", "ΔW_out", "W_hh", "W_out", "W_ih"),
        *("g_past", "g_imm", "g_full", "G_past", "G_imm", "u_1"),
    )
}


def page(report: Report, pictures: Pictures) -> str:
    """The page as HTML.

    Args:
        report: what it shows.
        pictures: the figures' .png files by name.

    Raises:
        OSError: a picture cannot be read.
    """
    figures = dict(_figures(report, pictures))
    chapters = {name: part.part.chapter for name, part in catalogue.parts("figure").items()}
    leads = [name for c in _LEADING for name in figures if chapters[name] == c]
    lead = figures.pop(leads[0]) if leads and report.opening.answer.quotes_gaps else None
    results = report.results
    details = provenance.lines(report.origin)
    return _environment().get_template("page").render(
        **report.facts,
        lead=lead,
        chapters=list(report.chapters(figures)),
        account=report.account,
        glossary=words.GLOSSARY,
        runs=list(_runs(results.get("heldout"), report.study)),
        few=f"{FEW} fewer than {FEW_UPDATES} updates: too few to tell learners apart.",
        remarks=load().remarks if report.claims else [],
        details={k: v for k, v in details.items() if k not in report.facts["provenance"]},
        signs=words.OUTCOME_SIGNS,
    )  # fmt: skip


def write(
    path: Path | str,
    results: Mapping[str, pd.DataFrame],
    pictures: Pictures,
    study: StudyFacts,
    origin: Mapping[str, Any],
) -> None:
    """Write the page of these results.

    Raises:
        OrlaError: the disk is full.
    """
    with atomic(Path(path)) as partial:
        partial.write_text(page(Report(results, study, origin), pictures), encoding="utf-8")


def _environment() -> Environment:
    named = {"page": "page.html", "style": "page.css"}
    texts = {n: (files(__package__) / f).read_text(encoding="utf-8") for n, f in named.items()}
    environment = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["rich"] = rich
    return environment


def rich(text: str) -> Markup:
    """Text as HTML: escaped, line feeds as breaks, W_hh and its like with an index."""
    html = str(escape(bind(text)))
    for plain, marked in _INDEXED.items():
        html = html.replace(plain, marked)
    return Markup(html.replace("\n", "<br>"))


def _runs(heldout: pd.DataFrame | None, study: StudyFacts) -> Iterator[dict[str, Any]]:
    for run in runs(heldout, study) if heldout is not None else ():
        updates = {study.called("learner", slug): n for slug, n in run.updates.items()}
        yield {
            "title": run.title,
            "networks": str(run.networks),
            "frozen": number(run.frozen_error, 2),
            "reference": number(run.reference_error, 2),
            "steps": f"{run.steps:,}" if run.steps else "–",
            "few": any(n < FEW_UPDATES for n in updates.values()),
            "updates": "\n".join(
                f"{label}: {n:,}{FEW if n < FEW_UPDATES else ''}" for label, n in updates.items()
            ),
        }


def _figures(report: Report, pictures: Pictures) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures that have a picture and something to show, less those whose table has none."""
    blank = {name for name, table in report.tables.items() if not table.ran}
    for name, part in catalogue.parts("figure").items():
        needed = report.needed(part) if name in pictures and name not in blank else None
        text = None if needed is None else part().render(*needed, study=report.study)
        if text is None:
            continue
        data = Path(pictures[name]).read_bytes()
        width, height = struct.unpack(">II", data[16:24])  # where every PNG has its size
        source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
        size = {"width": width, "height": height}
        yield name, {"name": name, "source": source, **size, "text": text}
