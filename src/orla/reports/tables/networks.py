"""Tables of networks: the gap by size, the cosine by the autocorrelation of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from orla.reports import paper_rows
from orla.reports.cells import Line, cell, mean, mean_seeds, network
from orla.reports.comparison import RECOVERY, Mean, Sheet, printed
from orla.reports.numbers import count
from orla.reports.panels import CELLS, EPISODE, ByCondition, Panels, titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel
from orla.study.keys import KEYS
from orla.study.plan import STATIONARY

_COSINE = "window_cosine"


# The paper's columns of both learners, with past and without.
_LEARNERS = ("learner_full", "learner_immediate")


def _recovery(side: str) -> Callable[[Line], str]:
    """The recovery of one of the paper's two learners."""

    def text(line: Line) -> str:
        at = {**line.row, "learner": load().table("capacity")[0][side]}
        paper = printed(line.paper, f"{side.replace('learner', 'recovery')}_percent")
        return line.sheet.cell(at, RECOVERY, line.sheet.mean(at, RECOVERY), paper, digits=1)

    return text


class Capacity(
    ByCondition,
    name="capacity",
    label="Gap by network and its size",
    chapter="mechanism",
    order=80,
    needs=("gaps", "measured"),
    paper="capacity",
):
    """Recoveries and the gap of the paper's two learners with its optimizer, a line a network."""

    panel_by = EPISODE
    cells = (
        network(),
        cell("h→h, paper", lambda line: count((line.paper or {}).get("recurrent_parameters"))),
        mean_seeds("gap_pp"),
        cell("with past", _recovery(_LEARNERS[0]), "Held-out recovery (%)"),
        cell("without past", _recovery(_LEARNERS[1]), "Held-out recovery (%)"),
        mean("Gap (pp)", "gap_pp", digits=1, signed=True, ending="_pp"),
    )

    def says(self, study: StudyFacts) -> str:
        first = self.rows()[0]
        names = [study.called("learner", first[side]) for side in _LEARNERS]
        return (
            f"{study.called('optimizer', first['optimizer'])}: held-out recovery under {names[0]} "
            f"(with past) and {names[1]} (without), and their difference, paired by network. h→h: "
            f"numbers from state to state. {CELLS}"
        )

    def rows(self) -> list[dict[str, Any]]:
        return load().table(self.part.more["paper"])

    def conditions(self, sheet: Sheet, gaps: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
        rows = paper_rows.plain(gaps).assign(learner="")
        for column in (*_LEARNERS, "optimizer"):
            rows = rows[rows[column] == self.rows()[0][column]]
        # Several comparisons may be of the same two learners.
        rows = rows.drop_duplicates(list(KEYS))
        columns = ["gap_pp", "t95_low_pp", "t95_high_pp", "n_seeds", "n_diverged"]
        sheet.take(measured)
        for row in rows.to_dict("records"):
            key = (*(row[name] for name in KEYS), "gap_pp")
            sheet.means[key] = Mean(*(row[column] for column in columns))
        return rows[list(KEYS)]


class Decorrelation(
    Panels,
    name="decorrelation",
    label="Cosine by the autocorrelation of the input",
    chapter="mechanism",
    order=60,
    needs=("measured",),
    paper="input_correlation",
):
    """A row an autocorrelation, a column a network: copies of AR(1) noise that does not change."""

    remarks = ("The paper measures it at the end of a window, ours is of whole windows.",)

    def rows(self) -> list[dict[str, Any]]:
        """The paper's rows."""
        return load().table(self.part.more["paper"])

    def networks(self) -> list[str]:
        """The paper's networks."""
        return list(dict.fromkeys(row["architecture"] for row in self.rows()))

    def says(self, study: StudyFacts) -> str:
        return (
            f"Copies of AR(1) noise {self.rows()[0]['delay_steps']} steps before, without a shift: "
            "mean over windows of cos(g_imm, g_past), g_full by backpropagation through the "
            f"window, by the autocorrelation ρ of the input. {CELLS}"
        )

    def columns(self, study: StudyFacts) -> list[Column]:
        names = (study.called("architecture", name) for name in self.networks())
        return [Column("ρ", "r"), *(Column(name, "r") for name in names)]

    def panels(self, sheet: Sheet, measured: pd.DataFrame) -> Iterator[Panel]:
        study, rows = sheet.study, self.rows()
        sheet.take(measured)

        def rho(task: str) -> float | None:
            """Of a task that copies its input after as many steps as the paper's."""
            options = study.options("task", task)
            return options.get("rho") if options.get("delay") == rows[0]["delay_steps"] else None

        def fits(keys: Mapping[str, Any]) -> bool:
            alike = any(paper_rows.like(study, keys["architecture"], row) for row in rows)
            return alike and keys["split"] == STATIONARY and rho(keys["task"]) is not None

        conditions = paper_rows.conditions_with(measured, _COSINE, fits=fits)
        conditions = conditions.assign(rho=conditions["task"].map(rho))
        blank = rows[0] if len(measured) else None
        by = ("learner", "optimizer", "precision")
        for title, group in titled(study, conditions, by, blank):
            places = group.to_dict("records") if len(conditions) else []
            each = sorted({row["rho"] for row in [*rows, *places]})
            yield Panel(title, [self._line(sheet, places, value) for value in each])

    def _line(self, sheet: Sheet, places: list[dict[str, Any]], rho: float) -> tuple[str, ...]:
        cells = [f"{rho:g}"]
        for name in self.networks():
            same = (r for r in self.rows() if (r["rho"], r["architecture"]) == (rho, name))
            paper = next(same, None)
            alike = paper or {**self.rows()[0], "architecture": name}
            ours = (
                keys
                for keys in places
                if keys["rho"] == rho and paper_rows.like(sheet.study, keys["architecture"], alike)
            )
            keys = next(ours, None)
            number = sheet.mean(keys, _COSINE)
            there = printed(paper, "cosine")
            cells.append(sheet.cell(keys or alike, _COSINE, number, there, digits=3, signed=True))
        return tuple(cells)
