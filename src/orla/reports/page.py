"""The report: one self-contained HTML page that opens offline and loads nothing."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from orla.files import atomic
from orla.reports import claims, figures, tables, words
from orla.reports import paper as papers
from orla.reports.figures import Caption
from orla.reports.numbers import bind, count, is_missing
from orla.reports.table import Table

_TABLES: dict[str, tuple[Callable[..., Table], tuple[str, ...]]] = {
    "heldout": (tables.heldout, ("conditions",)),
    "bci_gap": (tables.bci_gap, ("gaps",)),
    "ratio_gap": (tables.ratio_gap, ("ratio_gap", "ratio_gap_order")),
    "selection_price": (tables.selection_price, ("selection_price",)),
}
_FIGURES: dict[str, tuple[Callable[..., Caption], str]] = {
    "tost_interval": (figures.describe_tost_interval, "gaps"),
    "horizon_gap": (figures.describe_horizon_gap, "horizon_gaps"),
    "lr_curves": (figures.describe_lr_curves, "lr_curves"),
    "adaptation_traces": (figures.describe_adaptation_traces, "traces"),
}
_INDEXED = {
    name: f"{name.split('_')[0]}<sub>{name.split('_')[1]}</sub>"
    for name in ("ΔW_hh", "ΔW_out", "W_hh", "W_out", "W_ih", "g_past", "g_imm")
}


def write(
    path: Path | str,
    results: Mapping[str, pd.DataFrame],
    pictures: Mapping[str, Path | str],
    dataset: dict,
    provenance: Mapping[str, Any],
) -> None:
    """Write the report.

    Args:
        path: where to (index.html).
        results: results by file stem: conditions, gaps, ratio_gap, ratio_gap_order,
            selection_price, horizon_gaps, lr_curves, traces, heldout, verdicts; what is absent is
            left out of the page, and claims it would answer read "not run".
        pictures: the figures' .png files by name (horizon_gap, lr_curves, adaptation_traces,
            tost_interval).
        dataset: name, source, label, simulated.
        provenance: nested dict: code, versions, CPU capability, config subset, lock hash, ...

    Raises:
        OrlaError: the disk is full.
        OSError: a picture cannot be read.
    """
    page = (
        _environment()
        .get_template("page")
        .render(
            dataset=dataset,
            paper=papers.load().document,
            verdicts=[_verdict(row) for row in _verdict_rows(results.get("verdicts"))],
            claims=claims.lines(results),
            remarks=papers.load().remarks,
            tables=list(_built_tables(results, dataset)),
            figures=list(_embedded(pictures, results, dataset)),
            provenance=list(_flat(provenance)),
            signs=words.OUTCOME_SIGNS,
        )
    )
    with atomic(Path(path)) as partial:
        partial.write_text(page, encoding="utf-8")


def _environment() -> Environment:
    template = (files(__package__) / "page.html").read_text(encoding="utf-8")
    environment = Environment(
        loader=DictLoader({"page": template}),
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


def _verdict_rows(verdicts: pd.DataFrame | None) -> list[dict]:
    return [] if verdicts is None else tables.verdict_rows(verdicts)


def _verdict(row: dict) -> dict[str, Any]:
    claim = papers.load().claim_of(row["registration"])
    return {
        "registration": row["registration"],
        "title": row["title"],
        "outcome": row["outcome"],
        "reason": "" if is_missing(row["reason"]) else row["reason"],
        "estimate": tables.verdict_estimate(row),
        "threshold": tables.threshold(row["threshold"]),
        "n": count(row["n"]),
        "amended": bool(row["amended"]),
        "registered_on": str(row["registered_on"]),
        "paper": claim["paper"] if claim else "",
        "place": claim["place"] if claim else "",
    }


def _built_tables(results: Mapping[str, pd.DataFrame], dataset: dict) -> Iterator[Table]:
    for build, needed in _TABLES.values():
        if all(name in results for name in needed):
            yield build(*(results[name] for name in needed), dataset)


def _embedded(
    pictures: Mapping[str, Path | str], results: Mapping[str, pd.DataFrame], dataset: dict
) -> Iterator[dict[str, Any]]:
    for name, (describe, needed) in _FIGURES.items():
        if name in pictures and needed in results:
            data = Path(pictures[name]).read_bytes()
            width, height = struct.unpack(">II", data[16:24])  # where every PNG has its size
            yield {
                "name": name,
                "source": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
                "width": width,
                "height": height,
                "text": describe(results[needed], dataset),
            }


def _flat(provenance: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested provenance as lines: "versions, torch" and its value."""
    for key, value in provenance.items():
        name = f"{prefix}, {key}" if prefix else str(key)
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value)) or "none"
        else:
            yield name, "unknown" if value is None else str(value)
