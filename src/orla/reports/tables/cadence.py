"""Structure of the past gradient and update ratios at two cadences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import PERCENT, Mean, Sheet, mean_of
from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.panels import papers_first
from orla.reports.paper import load
from orla.reports.pooled import notes_on_pairs, pairs_as_rows
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.keys import KEYS


class _Measure(NamedTuple):
    column: str
    header: str
    digits: int = 2
    scale: float = 1.0


_MEASURES = (
    _Measure("top1_past", "top1 of G_past"),
    _Measure("whh_share", "u_1 on W_hh (%)", 1, PERCENT),
    _Measure("update_ratio", "‖ΔW_hh‖/‖ΔW_out‖"),
)
_WEIGHTS = "weight_ratio"
# The column of the null by counts.
_COUNTS = 6


class CadenceStructure(
    Table,
    name="cadence",
    label="Structure and update ratio at two cadences",
    chapter="mechanism",
    order=30,
    needs=("heldout",),
):
    """The same gradient per step and once a window: whether structure and ratio differ."""

    def build(self, models: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        sheet, found = Sheet(study), square(study)
        own = pairs_as_rows(shared.plain(models))
        panels, weighed, caption = [], _has(own, _WEIGHTS), ""
        if found is not None:
            step, window, full_step, full_window = found.learners(study)
            gradients = {"g_imm": (step, window), "g_full": (full_step, full_window)}
            caption = "; ".join(
                f"{name}: {study.called('learner', a)}, and {study.called('learner', b)}"
                for name, (a, b) in gradients.items()
            )
            for title, keys, rows in papers_first(study, study.groups(own)):
                lines = _lines(sheet, rows, gradients, weighed, _null(study, keys))
                if lines:
                    panels.append(Panel(title, lines))
        null = [Column("counts", "r", "Null of ratio")]
        return self.document(
            study,
            f"Each gradient per step and once a window ({caption or 'not compared'}). First "
            "lines: mean over seeds per step / per window. Second lines: per window minus per "
            "step, paired by network, ± half of its 95 % t interval.",
            columns=[
                Column("Optimizer"),
                Column("Gradient"),
                Column("n", "r"),
                *(Column(measure.header, "r") for measure in _MEASURES),
                *null,
                *([Column("norms", "r", null[0].group)] if weighed else []),
            ],
            panels=panels,
            notes=_notes(panels, weighed) + notes_on_pairs(own),
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran,
        )


def _notes(panels: list[Panel], weighed: bool) -> list[str]:
    notes = []
    if any(row[_COUNTS] != MISSING for panel in panels for row in panel.rows):
        notes.append(
            "Null of the ratio by counts: the root of the numbers of W_hh over those of W_out, of "
            "the paper's network on its task. An optimizer that moves every number about alike "
            "(Adam, Adafactor, the sign methods) has it whatever the gradient."
        )
    if weighed:
        notes.append("Null of the ratio by norms: ‖W_hh‖/‖W_out‖, which LARS has.")
    return notes


def _lines(
    sheet: Sheet,
    rows: pd.DataFrame,
    gradients: dict[str, tuple[str, str]],
    weighed: bool,
    null: float | None,
) -> list[tuple[str, ...]]:
    lines = []
    for optimizer in sheet.study.present(rows, "optimizer"):
        for gradient, learners in gradients.items():
            sides = [
                rows[(rows["optimizer"] == optimizer) & (rows["learner"] == name)]
                for name in learners
            ]
            if any(side.empty for side in sides):
                continue
            if not any(all(_has(side, m.column) for side in sides) for m in _MEASURES):
                continue
            cells = [_cell(sheet, *sides, measure) for measure in _MEASURES]
            nulls = [number(null, 2)]
            if weighed:
                nulls.append(shared.shown(mean_of(sides[0][_WEIGHTS]), 2))
            lost = int(sum(side["diverged"].sum() for side in sides))
            both = Mean(
                0.0, n=len(np.intersect1d(*(side["seed"] for side in sides))), diverged=lost
            )
            name = sheet.study.called("optimizer", optimizer)
            lines.append((name, gradient, shared.seeds(both), *cells, *nulls))
    return lines


def _cell(sheet: Sheet, step: pd.DataFrame, window: pd.DataFrame, measure: _Measure) -> str:
    """Both means, and under them their difference over the networks that have both."""
    if not (_has(step, measure.column) or _has(window, measure.column)):
        return MISSING
    values = [_values(side, measure) for side in (step, window)]
    means = []
    for side, found in zip((step, window), values, strict=True):
        means.append(mean_of(found, int(side["diverged"].sum())))
        keys = {name: side[name].iloc[0] for name in KEYS}
        sheet.note(keys, measure.column, means[-1] if means[-1].n else None, None)
    apart = (values[1] - values[0]).dropna()
    difference = mean_of(apart)
    sheet.note(keys, f"{measure.column}_window_minus_step", difference, None)
    first = " / ".join(number(mean.value, measure.digits) for mean in means)
    if is_missing(difference.value):
        return first
    return f"{first}\n{shared.shown(difference, measure.digits, signed=True)}"


def _values(rows: pd.DataFrame, measure: _Measure) -> pd.Series:
    """By seed, scaled; the finite ones."""
    if measure.column not in rows:
        return pd.Series(dtype=float)
    values = rows[measure.column].to_numpy(float) * measure.scale
    finite = np.isfinite(values)
    return pd.Series(values[finite], index=rows["seed"].to_numpy()[finite])


def _has(rows: pd.DataFrame, column: str) -> bool:
    return column in rows and bool(np.isfinite(rows[column].to_numpy(float)).any())


def _null(study: StudyFacts, keys: dict[str, Any]) -> float | None:
    """√(|W_hh|/|W_out|) of the paper's network on its task; None of any other."""
    theirs = paper_rows.papers_structure()[0]
    if study.paper(keys) is None or not paper_rows.like(study, keys["architecture"], theirs):
        return None
    sizes = {name: n for row in load().table("text") for name, n in row.items()}
    return float(np.sqrt(sizes["parameters_whh"] / sizes["parameters_wout"]))
