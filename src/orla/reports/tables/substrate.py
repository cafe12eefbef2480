"""Size and sign of the past gradient beside the immediate, coordinate by coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import Mean, Means, Sheet
from orla.reports.numbers import is_missing
from orla.reports.panels import titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.keys import DEFAULTS, KEYS


class _Metric:
    """A row of the paper's table: its name there, ours, and our words for it."""

    def __init__(self, paper: str, measure: str, words: str, digits: int = 3):
        self.paper, self.measure, self.words, self.digits = paper, measure, words, digits


_METRICS = (
    _Metric("median of |g_past| / |g_imm|", "dominance", "median of |g_past|/|g_imm|", 2),
    _Metric("share with |g_past| > |g_imm|", "past_wins_share", "share with |g_past| > |g_imm|"),
    _Metric("sd of sign(g_past)", "past_sign_sd", "sd over windows of the mean sign(g_past)"),
    _Metric("sd of sign(g_past)", "past_sign_sd_coordinates",
            "mean over coordinates of the sd of sign(g_past)"),
    _Metric("share with sign(g_full) other than sign(g_imm)", "sign_differs_share",
            "share with sign(g_full) ≠ sign(g_imm)"),
)  # fmt: skip
_RATIO = "dominance_over_other"


class Substrate(
    Table,
    name="substrate",
    label="Size and sign of the past gradient, coordinate by coordinate",
    chapter="mechanism",
    order=90,
    needs=("measured",),
    paper="dominance",
):
    """Coordinates of the recurrent weights, a column a network and optimizer of the paper's."""

    def build(self, measured: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        sheet, means = Sheet(study), Means(measured)
        rows = load().table(self.part.more["paper"])
        columns = [row for row in rows if row["metric"] == _METRICS[0].paper]
        own = shared.drifting(shared.measured_at(measured, *(m.measure for m in _METRICS)))
        own = own[own["learner"] == paper_rows.full_learner()]
        own = shared.kept(
            own, (any(_fits(study, keys, c) for c in columns) for keys in own.to_dict("records"))
        )
        blank = {name: columns[0].get(name, "") for name in KEYS} | DEFAULTS
        frame = own if len(own) or measured.empty else pd.DataFrame([blank])
        panels = [
            Panel(title, _lines(sheet, means, conditions, columns, rows))
            for title, conditions in titled(study, frame, shared.EPISODE)
        ]
        names = [
            f"{study.called('architecture', c['architecture'])}, "
            f"{study.called('optimizer', c['optimizer'])}"
            for c in columns
        ]
        return self.document(
            study,
            "Coordinates of the recurrent weights, over windows: g_past and g_imm under "
            f"{study.called('learner', paper_rows.full_learner())}. {shared.CELLS}",
            columns=[Column("", "p{3.1cm}"), *(Column(name, "r") for name in names)],
            panels=panels,
            notes=[
                "The paper does not say over what it takes the sd of the sign: both readings "
                "stand beside its one number.",
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _fits(study: StudyFacts, keys: Mapping[str, Any], column: Mapping[str, Any]) -> bool:
    same = all(keys[name] == column[name] for name in ("task", "optimizer"))
    return same and paper_rows.like(study, keys["architecture"], column)


def _lines(
    sheet: Sheet,
    means: Means,
    conditions: pd.DataFrame,
    columns: list[dict[str, Any]],
    rows: list[dict[str, Any]],
) -> list[tuple[str, ...]]:
    here = conditions.to_dict("records")
    own = [
        next((keys for keys in here if _fits(sheet.study, keys, column)), None)
        for column in columns
    ]
    lines = []
    for metric in _METRICS:
        cells = [
            sheet.cell(
                keys or column,
                metric.measure,
                means.of(keys, metric.measure) if keys else None,
                paper_rows.theirs(_paper(rows, metric.paper, column), "value", ""),
                digits=metric.digits,
            )
            for keys, column in zip(own, columns, strict=True)
        ]
        lines.append((metric.words, *cells))
    return [*lines, _ratio_line(sheet, means, own, columns, rows)]


def _paper(
    rows: list[dict[str, Any]], metric: str, column: Mapping[str, Any]
) -> dict[str, Any] | None:
    same = ("architecture", "optimizer")
    return next(
        (r for r in rows if r["metric"] == metric and all(r.get(n) == column[n] for n in same)),
        None,
    )


def _ratio_line(
    sheet: Sheet,
    means: Means,
    own: list[dict[str, Any] | None],
    columns: list[dict[str, Any]],
    rows: list[dict[str, Any]],
) -> tuple[str, ...]:
    """The first network's median over that of the second, in the first network's columns."""
    first, *others = dict.fromkeys(column["architecture"] for column in columns)
    measure, cells = _METRICS[0].measure, []
    for keys, column in zip(own, columns, strict=True):
        if column["architecture"] != first:
            cells.append("")
            continue
        beside = next(
            k
            for k, c in zip(own, columns, strict=True)
            if c["architecture"] == others[0] and c["optimizer"] == column["optimizer"]
        )
        both = [means.of(k, measure) if k else None for k in (keys, beside)]
        ratio = None
        if None not in both and not any(is_missing(one.value) for one in both):
            ratio = Mean(both[0].value / both[1].value, n=min(one.n for one in both))
        theirs = next(
            row for row in rows
            if "architecture" not in row and row["optimizer"] == column["optimizer"]
        )  # fmt: skip
        cells.append(sheet.cell(keys or column, _RATIO, ratio, paper_rows.theirs(theirs, "value")))
    names = [sheet.study.called("architecture", name) for name in (first, others[0])]
    return (f"{_METRICS[0].words}, {names[0]} over {names[1]}", *cells)
