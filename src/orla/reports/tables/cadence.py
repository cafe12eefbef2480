"""Structure of the past gradient and update ratios at two cadences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports import paper_rows
from orla.reports.comparison import (
    Mean,
    Sheet,
    mean_of,
    mean_text,
    seeds,
)
from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.panels import Panels, papers_first
from orla.reports.paper import load
from orla.reports.pooled import pairs_as_rows
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.study.keys import KEYS


class _Measure(NamedTuple):
    column: str
    header: str
    digits: int = 2
    scale: float = 1.0

    def by_seed(self, rows: pd.DataFrame) -> pd.Series:
        """The finite values."""
        values = rows.get(self.column, np.nan)
        values = pd.Series(values, index=rows.index, dtype=float).set_axis(rows["seed"])
        return values[np.isfinite(values)] * self.scale


_MEASURES = (
    _Measure("top1_past", "top1 of G_past"),
    _Measure("whh_share", "u_1 on W_hh (%)", 1, 100.0),
    _Measure("update_ratio", "‖ΔW_hh‖/‖ΔW_out‖"),
)
_NORMS = _Measure("weight_ratio", "norms")
_NULL = "Null of ratio"
_NULLS = {
    "counts": "Null of the ratio by counts: the root of the numbers of W_hh over those of W_out, "
    "of the paper's network on its task. An optimizer that moves every number about alike "
    "(Adam, Adafactor, the sign methods) has it whatever the gradient.",
    "norms": "Null of the ratio by norms: ‖W_hh‖/‖W_out‖, which LARS has.",
}


class CadenceStructure(
    Panels,
    name="cadence",
    label="Structure and update ratio at two cadences",
    chapter="mechanism",
    order=30,
    needs=("heldout",),
):
    """The same gradient per step and once a window: whether structure and ratio differ."""

    beside_paper = False

    def gradients(self, study: StudyFacts) -> dict[str, tuple[str, str]]:
        """Each gradient's learners, per step and per window; {} where none are compared."""
        if (compared := square(study)) is None:
            return {}
        step, window, full_step, full_window = compared.learners(study)
        return {"g_imm": (step, window), "g_full": (full_step, full_window)}

    def says(self, study: StudyFacts) -> str:
        which = "; ".join(
            f"{name}: {study.called('learner', step)}, and {study.called('learner', window)}"
            for name, (step, window) in self.gradients(study).items()
        )
        return (
            f"Each gradient per step and once a window ({which or 'not compared'}). First "
            "lines: mean over seeds per step / per window. Second lines: per window minus per "
            "step, paired by network, ± half of its 95 % t interval."
        )

    def columns(self, study: StudyFacts) -> list[Column]:
        return [
            Column("Optimizer"),
            Column("Gradient"),
            Column("n", "r"),
            *(Column(measure.header, "r") for measure in _MEASURES),
            *(Column(name, "r", _NULL) for name in _NULLS),
        ]

    def optional(self, column: Column) -> bool:
        return column.header == _NORMS.header

    def notes(self, panels: list[Panel]) -> list[str]:
        nulls = zip(*(row[-len(_NULLS) :] for panel in panels for row in panel.rows), strict=True)
        return [
            note
            for note, cells in zip(_NULLS.values(), nulls, strict=False)
            if any(cell != MISSING for cell in cells)
        ]

    def panels(self, sheet: Sheet, models: pd.DataFrame) -> Iterator[Panel]:
        groups = sheet.study.groups(pairs_as_rows(paper_rows.plain(models)))
        for title, keys, rows in papers_first(sheet.study, groups):
            null = number(_null(sheet.study, keys), 2)
            lines = [
                (*line, null, mean_text(mean_of(_NORMS.by_seed(sides[0])), 2))
                for optimizer in sheet.study.present(rows, "optimizer")
                for gradient, learners in self.gradients(sheet.study).items()
                for at in [rows[rows["optimizer"] == optimizer]]
                for sides in [[at[at["learner"] == name] for name in learners]]
                if (line := _cadences(sheet, optimizer, gradient, sides))
            ]
            if lines:
                yield Panel(title, lines)


def _cadences(
    sheet: Sheet, optimizer: str, gradient: str, sides: list[pd.DataFrame]
) -> tuple[str, ...]:
    """A line of both cadences; empty where nothing was measured at both."""
    values = {measure: [measure.by_seed(side) for side in sides] for measure in _MEASURES}
    if not any(all(map(len, both)) for both in values.values()):
        return ()
    lost = [int(side["diverged"].sum()) for side in sides]
    n = len(np.intersect1d(*(side["seed"] for side in sides)))
    keys = [dict(side[list(KEYS)].iloc[0]) for side in sides]
    cells = []
    for measure, both in values.items():
        if not any(map(len, both)):
            cells.append(MISSING)
            continue
        means = [mean_of(*side) for side in zip(both, lost, strict=True)]
        for at, ours in zip(keys, means, strict=True):
            sheet.note(at, measure.column, ours if ours.n else None)
        apart = mean_of((both[1] - both[0]).dropna())
        sheet.note(keys[1], f"{measure.column}_window_minus_step", apart)
        second = "" if is_missing(apart.value) else f"\n{mean_text(apart, measure.digits, True)}"
        cells.append(" / ".join(number(ours.value, measure.digits) for ours in means) + second)
    name = sheet.study.called("optimizer", optimizer)
    return (name, gradient, seeds(Mean(0.0, n=n, diverged=sum(lost))), *cells)


def _null(study: StudyFacts, keys: Mapping[str, Any]) -> float | None:
    """√(|W_hh|/|W_out|) of the paper's network on its task; None of any other."""
    row = paper_rows.papers_structure()[0]
    if study.paper(keys) is None or not paper_rows.like(study, keys["architecture"], row):
        return None
    sizes = {name: n for row in load().table("text") for name, n in row.items()}
    return float(np.sqrt(sizes["parameters_whh"] / sizes["parameters_wout"]))
