"""Findings as Markdown, from the results of one run: every figure comes out of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from orla.reports.numbers import MISSING, estimate, is_missing, number
from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.table import Column, TableDocument


def markdown(report: Report) -> str:
    """The findings of one run, as Markdown."""
    results = report.results
    return _template().render(
        report.facts,
        tag=" (SIMULATED)" if report.study.simulated else "",
        data=report.study.data,
        tables=report.shown,
        horizons=_horizons(results.get("horizon_gaps"), report.study),
    )


def findings(
    results: Mapping[str, pd.DataFrame], provenance: Mapping[str, Any], study: StudyFacts
) -> str:
    """The findings of these results, as Markdown."""
    return markdown(Report(results, study, provenance))


def _template() -> Any:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters = {"cell": _cell, "header": _header, "heading": _heading, "anchor": _anchor}
    environment.filters |= filters
    text = (files(__package__) / "findings.md.jinja").read_text(encoding="utf-8")
    return environment.from_string(text)


def _cell(text: str) -> str:
    """Text that breaks no row of a Markdown table and is taken for no emphasis."""
    plain = str(text).replace("\\", "\\\\").replace("|", r"\|").replace("*", r"\*")
    return " ".join(plain.replace("_", r"\_").replace("<", "&lt;").split("\n"))


def _header(column: Column) -> str:
    return f"{column.group}: {column.header}" if column.group else column.header


def _heading(table: TableDocument) -> str:
    return table.title + (" (SIMULATED)" if table.simulated else "")


def _anchor(heading: str) -> str:
    """Where a link to a heading leads, by GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _horizons(gaps: pd.DataFrame | None, study: StudyFacts) -> dict[str, Any] | None:
    if gaps is None or gaps.empty:
        return None
    panels, spread = [], {}
    for title, _, rows in study.groups(gaps):
        steps = sorted(rows["horizon_steps"].unique())
        by_optimizer = {}
        for optimizer, own in rows.groupby("optimizer", sort=False):
            found = {row["horizon_steps"]: row for row in own.to_dict("records")}
            name = study.called("optimizer", optimizer)
            spread[f"{name}, {title}"] = own["gap_pp"].max() - own["gap_pp"].min()
            by_optimizer[name] = [_gap(found.get(step)) for step in steps]
        panels.append({"title": title, "steps": steps, "rows": by_optimizer})
    caption = (
        f"Gap in pp of {study.words(study.main)}, with 95 % bootstrap intervals over seeds of one "
        "pair. Seeds that share a stream share the step at which adaptation stops, so these "
        "intervals do not hold the variation between horizons"
    )
    known = {name: value for name, value in spread.items() if not is_missing(value)}
    if known:
        widest = max(known, key=known.__getitem__)
        caption += f": up to {number(known[widest])} pp ({widest})"
    caption += "."
    return {"caption": study.prefix + caption, "panels": panels}


def _gap(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return MISSING
    return estimate(row["gap_pp"], row["low_pp"], row["high_pp"], signed=True, n=row["n_seeds"])
