"""docs/findings.md, from the results of one run: every figure comes out of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from orla import catalogue
from orla.catalogue import Part
from orla.reports import claims, opening
from orla.reports.chapters import CARDS, place
from orla.reports.numbers import MISSING, estimate, is_missing, number
from orla.reports.provenance import short
from orla.reports.study import StudyFacts
from orla.reports.table import Column, TableDocument
from orla.reports.verdicts import folded, outcome_words, sample, threshold, verdict_estimate


def findings(
    results: Mapping[str, pd.DataFrame], provenance: Mapping[str, Any], study: StudyFacts
) -> str:
    """The findings of one run, as Markdown.

    Args:
        results: results by file stem; a table whose results are absent is left out.
        provenance: of the verdicts: code, versions, CPU capability, lock hash, ...
        study: names, comparisons and data of the study.
    """
    told = claims.lines(results, study) if claims.apply(results, study) else []
    tables = [_table(part, results, study) for part in _answered(results)]
    return _template().render(
        study=study,
        partly=study.partly_simulated(results.get("heldout")),
        tag=" (SIMULATED)" if study.simulated else "",
        provenance={"data": study.data, **short(provenance)},
        opening=opening.sentences(results, study),
        claims=[line for line in told if line.ours],
        unmeasured=[line for line in told if not line.ours],
        judged=_judged(results.get("verdicts"), study),
        tables=[table for table in tables if table.ran],
        horizons=_horizons(results.get("horizon_gaps"), study),
    )


def _template() -> Any:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "cell": _cell,
        "header": _header,
        "heading": _heading,
        "anchor": _anchor,
    }
    return environment.from_string(
        (files(__package__) / "findings.md.jinja").read_text(encoding="utf-8")
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


def _answered(results: Mapping[str, pd.DataFrame]) -> list[type[Part]]:
    """Tables that have rows, in the order of the page; verdicts have a section of their own."""
    found = [
        part
        for part in catalogue.parts("table").values()
        if part.part.chapter != CARDS
        and all(need in results for need in part.part.more["needs"])
        and len(results[part.part.more["needs"][0]])
    ]
    return sorted(found, key=lambda part: place(part.part.chapter))


def _table(part: type[Part], results: Mapping[str, pd.DataFrame], study: StudyFacts) -> Any:
    return part().build(*(results[need] for need in part.part.more["needs"]), study=study)


def _judged(verdicts: pd.DataFrame | None, study: StudyFacts) -> list[dict[str, Any]]:
    return [
        {
            **{key: row[key] for key in ("title", "registration", "amended")},
            "outcome": outcome_words(row, study),
            "estimate": verdict_estimate(row),
            "threshold": threshold(row["threshold"]),
            "n": sample(row),
            "reason": why,
        }
        for row, why in (folded(verdicts, study) if verdicts is not None else ())
    ]


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
