"""Findings as Markdown, from the results of one run: every figure comes out of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, estimate, number
from orla.reports.report import Report
from orla.reports.study import StudyFacts
from orla.reports.table import Column, TableDocument


def findings(report: Report) -> str:
    """The findings of one run, as Markdown."""
    results = report.results
    return report.render(
        "findings.md.jinja",
        {"cell": _cell, "header": _header, "heading": _heading, "anchor": _anchor},
        tag=" (SIMULATED)" if report.study.simulated else "",
        tables=report.shown,
        horizons=_horizons(results.get("horizon_gaps"), report.study),
    )


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
        lines = {}
        for optimizer, of_steps in rows.groupby("optimizer", sort=False):
            cells = {row["horizon_steps"]: _gap(row) for row in of_steps.to_dict("records")}
            name = study.called("optimizer", optimizer)
            lines[name] = [cells.get(step, MISSING) for step in steps]
            spread[f"{name}, {title}"] = of_steps["gap_pp"].max() - of_steps["gap_pp"].min()
        panels.append({"title": title, "steps": steps, "rows": lines})
    spread = pd.Series(spread).dropna()
    widest = f": up to {number(spread.max())} pp ({spread.idxmax()})" if len(spread) else ""
    caption = (
        f"{study.prefix}Gap in pp of {study.words(study.main)}, with 95 % bootstrap intervals over "
        "seeds of one pair. Seeds that share a stream share the step at which adaptation stops, so "
        f"these intervals do not hold the variation between horizons{widest}."
    )
    return {"caption": caption, "panels": panels}


def _gap(row: Mapping[str, Any]) -> str:
    return estimate(row["gap_pp"], row["low_pp"], row["high_pp"], signed=True, n=row["n_seeds"])
