"""Structure of the past gradient and update ratios at two cadences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.beside import BesidePaper
from orla.reports.cells import Cell, Line, Row, called, cell, value
from orla.reports.comparison import Beside, Mean, mean_of, mean_text, seeds
from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.paper import load
from orla.reports.paper_rows import (
    like,
    notes_on_pairs,
    pairs_as_rows,
    papers_first,
    papers_structure,
    plain,
)
from orla.reports.square import square
from orla.reports.study import StudyFacts
from orla.reports.table import Column
from orla.reports.tables.base import Contents
from orla.study.keys import KEYS


class _Measure(NamedTuple):
    """A measure of both cadences, and how it is written."""

    column: str
    header: str
    digits: int = 2
    scale: float = 1.0

    def by_seed(self, rows: pd.DataFrame) -> pd.Series:
        """The finite values."""
        values = rows.get(self.column, np.nan)
        values = pd.Series(values, index=rows.index, dtype=float).set_axis(rows["seed"])
        return values[np.isfinite(values)] * self.scale

    @property
    def cell(self) -> Cell:
        """Both means, over the mean of their difference by network."""
        return Cell(Column(self.header, "r"), self.text, lambda line: line.row[self.column] or ())

    def text(self, line: Line) -> str:
        """Both means in one line, their difference in the next."""
        if (numbers := line.row[self.column]) is None:
            return MISSING
        *sides, apart = (one.ours or Mean(np.nan) for one in numbers)
        means = " / ".join(number(one.value, self.digits) for one in sides)
        return means + (
            "" if is_missing(apart.value) else f"\n{mean_text(apart, self.digits, True)}"
        )

    def numbers(self, sides: list[pd.DataFrame]) -> list[Beside] | None:
        """Both means and their difference; None where it was measured at neither cadence."""
        values = [self.by_seed(side) for side in sides]
        if not any(map(len, values)):
            return None
        keys = [dict(side[list(KEYS)].iloc[0]) for side in sides]
        lost = (int(side["diverged"].sum()) for side in sides)
        means = [mean if mean.n else None for mean in map(mean_of, values, lost)]
        apart = mean_of((values[1] - values[0]).dropna())
        numbers = [Beside(k, self.column, mean) for k, mean in zip(keys, means, strict=True)]
        return [*numbers, Beside(keys[1], f"{self.column}_window_minus_step", apart)]


_MEASURES = (
    _Measure("top1_past", "top1"),
    _Measure("energy1_past", "energy"),
    _Measure("whh_share", "W_hh (%)", 1, 100.0),
    _Measure("update_ratio", "‖ΔW_hh‖/‖ΔW_out‖"),
)
_NORMS = _Measure("weight_ratio", "norms")
_NULLS = {
    "counts": "Null of the ratio by counts: the root of the numbers of W_hh over those of W_out, "
    "of the paper's network on its task. An optimizer that moves every number about alike "
    "(Adam, Adafactor, the sign methods) has it whatever the gradient.",
    "norms": "Null of the ratio by norms: ‖W_hh‖/‖W_out‖, which LARS has.",
}


class CadenceStructure(
    BesidePaper,
    name="cadence",
    label="Structure and update ratio at two cadences",
    chapter="mechanism",
    order=30,
    needs=("heldout",),
):
    """The same gradient per step and once a window: whether structure and ratio differ."""

    cells = (
        called("optimizer"),
        value("Gradient", "gradient", str, align="l"),
        cell("n", lambda line: seeds(line.row["seeds"])),
        *(measure.cell for measure in _MEASURES),
        *(value(name, name, str, "Null of ratio") for name in _NULLS),
    )
    optional = ("norms",)

    def gradients(self, study: StudyFacts) -> dict[str, tuple[str, str]]:
        """Each gradient's learners, per step and per window; {} where none are compared."""
        if (compared := square(study)) is None:
            return {}
        step, window, full_step, full_window = compared.learners(study)
        return {"g_imm": (step, window), "g_full": (full_step, full_window)}

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        which = "; ".join(
            f"{name}: {study.called('learner', step)}, and {study.called('learner', window)}"
            for name, (step, window) in self.gradients(study).items()
        )
        return (
            f"Each gradient per step and once a window ({which or 'not compared'}). top1, energy: "
            "of G_past; W_hh: share of its first direction there. First "
            "lines: mean over seeds per step / per window. Second lines: per window minus per "
            "step, paired by network, ± half of its 95 % t interval."
        )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        for title, keys, group in papers_first(study, study.groups(pairs_as_rows(plain(rows)))):
            null, lines = number(_null(study, keys), 2), []
            for optimizer in study.present(group, "optimizer"):
                at = group[group["optimizer"] == optimizer]
                for gradient, learners in self.gradients(study).items():
                    names = {"optimizer": optimizer, "gradient": gradient, "counts": null}
                    if line := _line([at[at["learner"] == name] for name in learners]):
                        lines.append(names | line)
            if lines:
                yield title, lines

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        nulls = [row[-len(_NULLS) :] for panel in contents.panels for row in panel.rows]
        shown = [any(cell != MISSING for cell in column) for column in zip(*nulls, strict=True)]
        notes = [note for note, some in zip(_NULLS.values(), shown, strict=False) if some]
        return notes + notes_on_pairs(record["pair"] for record in contents.records)

    def ran(self, contents: Contents, study: StudyFacts) -> bool:
        return bool(contents.panels)


def _line(sides: list[pd.DataFrame]) -> dict[str, Any]:
    """A line of both cadences; {} where nothing was measured at both."""
    if not any(all(len(measure.by_seed(side)) for side in sides) for measure in _MEASURES):
        return {}
    n = len(np.intersect1d(*(side["seed"] for side in sides)))
    lost = sum(int(side["diverged"].sum()) for side in sides)
    return {
        "seeds": Mean(0.0, n=n, diverged=lost),
        "norms": mean_text(mean_of(_NORMS.by_seed(sides[0])), 2),
    } | {measure.column: measure.numbers(sides) for measure in _MEASURES}


def _null(study: StudyFacts, keys: Row) -> float | None:
    """√(|W_hh|/|W_out|) of the paper's network on its task; None of any other."""
    row = papers_structure()[0]
    if study.paper(keys) is None or not like(study, keys["architecture"], row):
        return None
    sizes = {name: n for row in load().table("text") for name, n in row.items()}
    return float(np.sqrt(sizes["parameters_whh"] / sizes["parameters_wout"]))
