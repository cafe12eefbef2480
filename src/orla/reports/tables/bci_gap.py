"""Differences between learners, in gradient and in cadence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports.estimates import (
    ESTIMANDS,
    OVER_SEEDS,
    PAPERS_ESTIMAND,
    estimands,
    gap_lines,
    guard_notes,
)
from orla.reports.numbers import MISSING
from orla.reports.study import StudyFacts, in_paper
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import (
    NOT_RUN,
    PaperCell,
    lost_seeds,
    mark_notes,
    paper_gap,
    seed_range,
    twin,
    with_paper_rows,
)


class BciGap(
    Table,
    name="bci_gap",
    label="Gaps between learners",
    chapter="drift",
    order=20,
    needs=("estimates",),
    paper="gaps",
):
    """Every comparison of the study by optimizer, and the paper's gap beside its own."""

    def build(self, estimates: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        main = study.main
        candidates = [
            {"comparison": main, "optimizer": name, "estimand": PAPERS_ESTIMAND}
            for name in in_paper("optimizer")
        ]
        rows = with_paper_rows(estimates, study, candidates, _theirs)
        comparisons = study.present(rows, "comparison") or [main]
        beside = any(_theirs(study, row).found for row in rows.to_dict("records"))
        panels, records, diverged = [], [], {}
        several = rows["estimand"].nunique() > 1
        for estimand in estimands(rows):
            for title, _, group in study.groups(rows[rows["estimand"] == estimand]):
                lines = []
                for optimizer, own in group.groupby("optimizer", sort=False):
                    cells = {row["comparison"]: row for row in own.to_dict("records")}
                    line = [study.called("optimizer", optimizer), seed_range(cells)]
                    for name in comparisons:
                        line.append(_cell(cells.get(name)))
                        if name == main and beside:
                            first = next(iter(cells.values())) | {"comparison": main}
                            line.append(_theirs(study, first).two_lines)
                    lines.append(tuple(line))
                    for row in filter(lost_seeds, cells.values()):
                        diverged[_diverged(study, title, row)] = None
                words = f": {ESTIMANDS.get(estimand, estimand)}" if several else ""
                panels.append(Panel(title + words, lines))
                for row in group.to_dict("records"):
                    extra = _theirs(study, row).record("gap_pp")
                    records.append(row | (extra if row["comparison"] == main else {}))
        return self.document(
            study,
            "Differences of recovery (pp), with those of R² and MSE. "
            + " ".join(f"{_capital(study.words(name))}." for name in comparisons)
            + f" Brackets: {OVER_SEEDS}; n: paired seeds.",
            columns=list(_columns(study, comparisons, beside)),
            panels=panels,
            notes=[*diverged, *guard_notes(records, panels), *mark_notes(panels)],
            data=twin(records, rows, study),
            kept=2,
            widest=7,
        )


def _columns(study: StudyFacts, comparisons: list[str], beside: bool) -> list[Column]:
    columns = [Column("Optimizer"), Column("n", "r")]
    for name in comparisons:
        label = study.called("comparison", name)
        group, header = _header(label)
        if name == study.main and beside:
            columns += [Column("ours", "r", group or label), Column("paper", "r", group or label)]
        else:
            columns.append(Column(header, "r", group))
    return columns


def _header(label: str) -> tuple[str, str]:
    """A label as a group of columns and a header: "full − immediate, per step" in two."""
    group, _, header = label.rpartition(", ")
    return group, header


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _theirs(study: StudyFacts, row: Mapping[str, Any]) -> PaperCell:
    papers = row["comparison"] == study.main and row["estimand"] == PAPERS_ESTIMAND
    return paper_gap(study, row) if papers else PaperCell(None)


def _cell(row: dict | None) -> str:
    if row is None:
        return MISSING
    return gap_lines(row) if row["run"] else NOT_RUN


def _diverged(study: StudyFacts, title: str, row: dict) -> str:
    lost = lost_seeds(row)
    seeds = "1 seed is" if lost == 1 else f"{lost} seeds are"
    comparison = study.called("comparison", row["comparison"])
    optimizer = study.called("optimizer", row["optimizer"])
    return f"{optimizer}, {title}, {comparison}: {seeds} left out (diverged)."
