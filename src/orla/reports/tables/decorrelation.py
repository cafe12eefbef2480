"""Cosine of the immediate and the past gradient by the input's autocorrelation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports import measured as shared
from orla.reports import paper_rows
from orla.reports.measured import Means, Sheet
from orla.reports.panels import titled
from orla.reports.paper import load
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.study.plan import STATIONARY

_MEASURE = "window_cosine"


class Decorrelation(
    Table,
    name="decorrelation",
    label="Cosine by the autocorrelation of the input",
    chapter="mechanism",
    order=60,
    needs=("measured",),
    paper="input_correlation",
):
    """A row an autocorrelation, a column a network: copies of AR(1) noise that does not change."""

    def build(self, measured: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        sheet, means = Sheet(study), Means(measured)
        rows = load().table(self.part.more["paper"])
        networks = list(dict.fromkeys(row["architecture"] for row in rows))
        own = shared.measured_at(measured, _MEASURE)
        own = own[own["split"] == STATIONARY]
        copied = {task: _rho(study, task, rows[0]["delay_steps"]) for task in own["task"].unique()}
        own = shared.kept(
            own,
            (
                copied[keys["task"]] is not None
                and any(paper_rows.like(study, keys["architecture"], row) for row in rows)
                for keys in own.to_dict("records")
            ),
        )
        own = own.assign(rho=own["task"].map(copied))
        panels = []
        for title, found in titled(study, own, ("learner", "optimizer", "precision")):
            panels.append(Panel(title, _lines(sheet, means, found, rows, networks)))
        if not panels and len(measured):
            panels = [Panel("", _lines(sheet, means, own, rows, networks))]
        names = [study.called("architecture", name) for name in networks]
        return self.document(
            study,
            f"Copies of AR(1) noise {rows[0]['delay_steps']} steps before, without a shift: mean "
            "over windows of cos(g_imm, g_past), g_full by backpropagation through the window, by "
            f"the autocorrelation ρ of the input. {shared.CELLS}",
            columns=[Column("ρ", "r"), *(Column(name, "r") for name in names)],
            panels=panels,
            notes=[
                "The paper measures it at the end of a window, ours is of whole windows.",
                shared.RULE,
            ],
            size="scriptsize",
            data=sheet.data,
            ran=sheet.ran and study.reproduces,
        )


def _rho(study: StudyFacts, task: str, delay: int) -> float | None:
    """The autocorrelation of a task that copies its input after as many steps; None of others."""
    options = study.options("task", task)
    return options.get("rho") if options.get("delay") == delay else None


def _lines(
    sheet: Sheet,
    means: Means,
    own: pd.DataFrame,
    rows: list[dict[str, Any]],
    networks: list[str],
) -> list[tuple[str, ...]]:
    lines = []
    for rho in sorted({row["rho"] for row in rows} | set(own["rho"])):
        cells = []
        for network in networks:
            paper = next((r for r in rows if (r["rho"], r["architecture"]) == (rho, network)), None)
            like = paper or {**rows[0], "architecture": network}
            keys = _condition(sheet.study, own[own["rho"] == rho], like)
            ours = means.of(keys, _MEASURE) if keys else None
            cells.append(
                sheet.cell(
                    keys or like, _MEASURE, ours, paper_rows.theirs(paper, "cosine"),
                    digits=3, signed=True,
                )
            )  # fmt: skip
        lines.append((f"{rho:g}", *cells))
    return lines


def _condition(
    study: StudyFacts, own: pd.DataFrame, row: Mapping[str, Any]
) -> dict[str, Any] | None:
    found = (
        keys for keys in own.to_dict("records") if paper_rows.like(study, keys["architecture"], row)
    )
    return next(found, None)
