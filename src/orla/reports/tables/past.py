"""Tables of the past gradient, a line a condition: cosine, structure, and the gap by network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from orla.reports import paper_rows
from orla.reports.cells import Line, called, cell, mean, mean_seeds, network
from orla.reports.comparison import (
    NOT_COMPARABLE,
    RECOVERY,
    Sheet,
    compared,
    mean_text,
    printed,
    seeds,
)
from orla.reports.numbers import MISSING
from orla.reports.panels import CELLS, EPISODE, ByCondition
from orla.reports.paper import load
from orla.reports.pooled import over_pairs
from orla.reports.study import StudyFacts
from orla.study.keys import KEYS
from orla.study.plan import STATIONARY

_EXACT, _WINDOWS = "past_cosine", "window_cosine"
_TOP1 = "top1_past"
_SHARE = "Share on W_hh (%)"
_PERCENT = {"digits": 1, "scale": 100.0}


def _compared(line: Line) -> str:
    """Which of ours is compared: by windows, where the paper measured it so."""
    return _WINDOWS if line.paper and "window" in line.paper else _EXACT


def _cosine(measure: str) -> Callable[[Line], str]:
    def text(line: Line) -> str:
        paper = printed(line.paper, "cosine") if measure == _compared(line) else None
        line.sheet.note(line.row, measure, line.mean(measure), paper)
        return mean_text(line.mean(measure), 3, signed=True)

    return text


def _papers_cosine(line: Line) -> str:
    paper, measure = printed(line.paper, "cosine"), _compared(line)
    if paper is None:
        return MISSING
    said = compared(line.mean(measure), paper.value, paper.spread)
    judged = "" if said == NOT_COMPARABLE else f": {said}"
    how = "by windows" if measure == _WINDOWS else "exact"
    return f"{paper.text(3, signed=True, ends=True)}\n{how}{judged}"


def _cosine_seeds(line: Line) -> str:
    means = (line.mean(measure) for measure in (_compared(line), _EXACT, _WINDOWS))
    return seeds(next(filter(None, means), None))


class PastCosines(
    ByCondition,
    name="cosine",
    label="Cosine of the immediate and the past gradient",
    chapter="mechanism",
    order=10,
    needs=("measured",),
    paper="cosine",
):
    """The cosine along a stream that drifts, exact and by windows, beside the paper's nine cells.

    What the paper measured by windows is compared with ours by windows, the rest with ours per
    step.
    """

    panel_by = EPISODE
    cells = (
        network(),
        called("optimizer"),
        cell("n", _cosine_seeds),
        cell("exact, per step", _cosine(_EXACT), "Ours"),
        cell("by windows", _cosine(_WINDOWS), "Ours"),
        cell("The paper", _papers_cosine),
    )
    remarks = ("Under the paper's number: which of ours it is compared with.",)

    def says(self, study: StudyFacts) -> str:
        return (
            "Mean over the adaptation of cos(g_imm, g_past), g_past = g_full − g_imm. Exact: at "
            "each step, g_full by exact RTRL, which drives the network. By windows: g_full by "
            "backpropagation through a window, g_imm summed over it, along "
            f"{study.called('learner', paper_rows.full_learner())} where it ran. "
            "±: half of the 95 % t interval over seeds; n: seeds."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The paper's rows, one that stands for several tasks and sizes as one a cell."""
        return [
            {**row, "task": task, "hidden": size}
            for row in load().table(self.part.more["paper"])
            for task in row["task"].split(" and ")
            for size in (row["hidden"] if isinstance(row["hidden"], list) else [row["hidden"]])
        ]

    def conditions(self, sheet: Sheet, measured: pd.DataFrame) -> pd.DataFrame:
        """The conditions with either cosine, whichever learner drives: the paper's comes first."""
        measured, study, full = over_pairs(measured), sheet.study, paper_rows.full_learner()
        sheet.take(measured)
        exact = [
            name
            for name in measured["learner"].unique()
            if study.declaration("learner", name).get("exactness") == "exact"
            and study.stride(name) == 1
        ]
        rows = paper_rows.drifting(paper_rows.plain(measured))
        per_step = (rows["measure"] == _EXACT) & rows["learner"].isin(exact)
        rows = rows[per_step | (rows["measure"] == _WINDOWS)]
        by_learner = sorted(
            rows.to_dict("records"), key=lambda row: (row["learner"] != full, row["learner"])
        )
        for row in by_learner:
            key = (*({**row, "learner": ""}[name] for name in KEYS), row["measure"])
            sheet.means.setdefault(key, sheet.mean(row, row["measure"]))
        return rows.assign(learner="")[list(KEYS)].drop_duplicates()


class _Structure(ByCondition):
    """Concentration of the past gradient under the paper's full learner."""

    def fits(self, keys: Mapping[str, Any], kind: str) -> bool:
        """Whether the table shows a condition, whose network is of this kind."""
        raise NotImplementedError

    def conditions(self, sheet: Sheet, measured: pd.DataFrame) -> pd.DataFrame:
        measured = over_pairs(measured)
        sheet.take(measured)

        def fits(keys: Mapping[str, Any]) -> bool:
            kind = paper_rows.kind_of(sheet.study, keys["architecture"])
            return keys["learner"] == paper_rows.full_learner() and self.fits(keys, kind)

        return paper_rows.conditions_with(measured, _TOP1, fits=fits)


class Structure(
    _Structure,
    name="structure",
    label="Structure of the past gradient",
    chapter="mechanism",
    order=20,
    needs=("measured",),
    paper="structure",
):
    """Concentration of G_past and G_imm, and where the first direction of G_past lies.

    Networks of the kind that the paper measures here; the others have a table of their own.
    """

    cells = (
        called("optimizer"),
        mean_seeds(_TOP1),
        mean("G_past", _TOP1, group="top1"),
        mean("G_imm", "top1_immediate", group="top1"),
        mean("gap", "top1_gap", group="top1", signed=True),
        mean("u_1", "whh_share", "whh_share_percent", group=_SHARE, **_PERCENT),
        mean("null", "whh_share_null", group=_SHARE, **_PERCENT, with_interval=False),
    )
    remarks = (
        "g_past is exactly zero on the readout, because every learner's gradient of the "
        "readout is exact: the share of u_1 on W_out is 0 by construction, and the null "
        "among the numbers where g_past can lie is a little above that in the column.",
    )

    def says(self, study: StudyFacts) -> str:
        null = next(row for row in load().table("text") if "parameters_whh" in row)
        full = study.called("learner", paper_rows.full_learner())
        return (
            f"Past and immediate gradients of {full}, a column a window: G_past, G_imm. top1: "
            "largest singular value over the sum of all. Share on W_hh: squared norm there of u_1, "
            "the first left singular vector of G_past; null: numbers in W_hh over all, the share "
            f"of a random direction (the paper's: {null['whh_share_percent']:g}). {CELLS}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the paper's table, and the sine that its text adds."""
        sine = paper_rows.of_text(_TOP1, "whh_share_percent", split="shift")
        return paper_rows.papers_structure() + sine

    def fits(self, keys: Mapping[str, Any], kind: str) -> bool:
        return any(kind == row["architecture"] for row in self.rows())


class LSTMCrossArchitecture(
    _Structure,
    name="lstm_cross_architecture",
    label="Structure of the past gradient in other networks",
    chapter="mechanism",
    order=70,
    needs=("measured",),
    paper="lstm_structure",
):
    """Concentration of G_past and recovery of gated and linear networks under drift."""

    cells = (
        called("optimizer"),
        mean_seeds(_TOP1),
        mean("G_past", _TOP1, group="top1"),
        mean("G_imm", "top1_immediate", group="top1"),
        mean("gap", "top1_gap", group="top1", signed=True, digits=3),
        mean("Held-out recovery (%)", RECOVERY, "recovery_percent", digits=1, ending="_percent"),
    )

    def says(self, study: StudyFacts) -> str:
        full = study.called("learner", paper_rows.full_learner())
        return f"As the table of the vanilla network, under {full} and drift. {CELLS}"

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the paper's table, and the one that its text adds of another network."""
        rows = load().table(self.part.more["paper"])
        return rows + paper_rows.of_text(_TOP1, "recovery_percent", split=rows[0]["split"])

    def fits(self, keys: Mapping[str, Any], kind: str) -> bool:
        vanilla = paper_rows.papers_structure()[0]["architecture"]
        return kind != vanilla and keys["split"] != STATIONARY
