"""The report: one self-contained HTML page that opens offline and loads nothing."""

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
from orla.catalogue import Part
from orla.files import atomic
from orla.reports import claims, opening, words
from orla.reports import provenance as origin
from orla.reports.chapters import CARDS, chapter, place
from orla.reports.numbers import bind, number
from orla.reports.paper import load
from orla.reports.runs import runs
from orla.reports.study import StudyFacts
from orla.reports.table import TableDocument
from orla.reports.tables.shared import FEW, FEW_UPDATES
from orla.reports.verdicts import folded, outcome_words, sample, threshold, verdict_estimate

_INDEXED = {
    name: f"{name.split('_')[0]}<sub>{name.split('_')[1]}</sub>"
    for name in (
        *("ΔW_hh", "ΔW_out", "W_hh", "W_out", "W_ih"),
        *("g_past", "g_imm", "g_full", "G_past", "G_imm", "u_1"),
    )
}


def write(
    path: Path | str,
    results: Mapping[str, pd.DataFrame],
    pictures: Mapping[str, Path | str],
    study: StudyFacts,
    provenance: Mapping[str, Any],
) -> None:
    """Write the report.

    Args:
        path: where to (index.html).
        results: results by file stem, as the tables and figures of the catalogue need them, and
            heldout and verdicts; what needs an absent one is left out of the page, and claims
            that it would answer read "not run".
        pictures: the figures' .png files by name.
        study: names, comparisons and data of the study.
        provenance: nested dict: code, versions, CPU capability, config subset, lock hash, ...

    Raises:
        OrlaError: the disk is full.
        OSError: a picture cannot be read.
    """
    told = claims.lines(results, study) if claims.apply(results, study) else []
    chapters = list(_chapters(results, pictures, study))
    short, full = origin.short(provenance), origin.lines(provenance)
    page = _environment().get_template("page").render(
        study=study,
        partly=study.partly_simulated(results.get("heldout")),
        title=opening.title(study),
        opening=opening.sentences(results, study),
        glossary=words.GLOSSARY,
        runs=list(_runs(results.get("heldout"), study)),
        few=f"{FEW} fewer than {FEW_UPDATES} updates: too few to tell learners apart.",
        verdicts=list(_verdicts(results.get("verdicts"), study)),
        claims=[line for line in told if line.ours],
        unmeasured=[line for line in told if not line.ours],
        remarks=load().remarks if told else [],
        chapters=chapters,
        early=sum(item["chapter"].order < chapter(CARDS).order for item in chapters),
        provenance=short,
        details={name: value for name, value in full.items() if name not in short},
        signs=words.OUTCOME_SIGNS,
    )  # fmt: skip
    with atomic(Path(path)) as partial:
        partial.write_text(page, encoding="utf-8")


def _environment() -> Environment:
    named = {"page": "page.html", "style": "page.css"}
    texts = {
        name: (files(__package__) / file).read_text(encoding="utf-8")
        for name, file in named.items()
    }
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


def _verdicts(verdicts: pd.DataFrame | None, study: StudyFacts) -> Iterator[dict[str, Any]]:
    """One card each."""
    for row, why in folded(verdicts, study) if verdicts is not None else ():
        claim = load().claim_of(row["registration"]) or {}
        yield {
            "registration": row["registration"],
            "title": row["title"],
            "outcome": row["outcome"],
            "words": outcome_words(row, study),
            "reason": why,
            "estimate": verdict_estimate(row),
            "threshold": threshold(row["threshold"]),
            "n": sample(row),
            "amended": bool(row["amended"]),
            "registered_on": str(row["registered_on"]),
            "paper": claim.get("paper", ""),
        }


def _chapters(
    results: Mapping[str, pd.DataFrame], pictures: Mapping[str, Path | str], study: StudyFacts
) -> Iterator[dict[str, Any]]:
    """Every chapter that has something to show, its figures and its tables."""
    tables = [part for part in _answered("table", results) if part.part.chapter != CARDS]
    figures = [part for part in _answered("figure", results) if part.part.name in pictures]
    names = {part.part.chapter for part in (*tables, *figures)}
    for name in sorted(names, key=place):
        shown = [_table(part, results, study) for part in tables if part.part.chapter == name]
        shown = [table for table in shown if table.ran]
        drawn = [
            _figure(part, results, pictures, study)
            for part in figures
            if part.part.chapter == name and part().ran(*_needed(part, results), study=study)
        ]
        if shown or drawn:
            yield {"name": name, "chapter": chapter(name), "figures": drawn, "tables": shown}


def _answered(kind: str, results: Mapping[str, pd.DataFrame]) -> list[type[Part]]:
    """The parts of a kind whose results are all given."""
    found = catalogue.parts(kind).values()
    return [part for part in found if set(part.part.more["needs"]) <= set(results)]


def _needed(part: type[Part], results: Mapping[str, pd.DataFrame]) -> list[pd.DataFrame]:
    return [results[name] for name in part.part.more["needs"]]


def _table(
    part: type[Part], results: Mapping[str, pd.DataFrame], study: StudyFacts
) -> TableDocument:
    return part().build(*_needed(part, results), study=study)


def _figure(
    part: type[Part],
    results: Mapping[str, pd.DataFrame],
    pictures: Mapping[str, Path | str],
    study: StudyFacts,
) -> dict[str, Any]:
    data = Path(pictures[part.part.name]).read_bytes()
    width, height = struct.unpack(">II", data[16:24])  # where every PNG has its size
    return {
        "name": part.part.name,
        "source": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
        "width": width,
        "height": height,
        "text": part().describe(*_needed(part, results), study=study),
    }
