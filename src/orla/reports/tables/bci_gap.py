"""Differences between learners, in gradient and in cadence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orla.reports.numbers import MISSING, interval, is_missing, number
from orla.reports.study import StudyFacts, in_paper
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import (
    BOOTSTRAP,
    NOT_RUN,
    UNRELIABLE,
    PaperCell,
    is_true,
    lost_seeds,
    mark_notes,
    paper_gap,
    twin,
    with_paper_rows,
)


class BciGap(
    Table,
    name="bci_gap",
    label="Gaps between learners",
    chapter="drift",
    order=20,
    needs=("gaps",),
    paper="gaps",
):
    """Every comparison of the study by optimizer, and the paper's gap beside its own."""

    def build(self, gaps: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        main = study.main
        candidates = [{"comparison": main, "optimizer": name} for name in in_paper("optimizer")]
        rows = with_paper_rows(gaps, study, candidates, _theirs)
        comparisons = study.present(rows, "comparison") or [main]
        beside = any(_theirs(study, row).found for row in rows.to_dict("records"))
        panels, records, diverged = [], [], []
        for title, _, group in study.groups(rows):
            lines = []
            for optimizer, own in group.groupby("optimizer", sort=False):
                cells = {row["comparison"]: row for row in own.to_dict("records")}
                line = [study.called("optimizer", optimizer), _seeds(cells)]
                for name in comparisons:
                    line.append(_cell(cells.get(name)))
                    if name == main and beside:
                        first = next(iter(cells.values())) | {"comparison": main}
                        line.append(_theirs(study, first).two_lines)
                lines.append(tuple(line))
                diverged += [
                    _diverged(study, title, row) for row in cells.values() if lost_seeds(row)
                ]
            panels.append(Panel(title, lines))
            for row in group.to_dict("records"):
                extra = _theirs(study, row).record("gap_pp") if row["comparison"] == main else {}
                records.append(row | extra)
        return self.document(
            study,
            "Differences of held-out recovery (pp). "
            + " ".join(f"{_capital(study.words(name))}." for name in comparisons)
            + f" Brackets: {BOOTSTRAP}; n: paired seeds.",
            columns=list(_columns(study, comparisons, beside)),
            panels=panels,
            notes=diverged + mark_notes(panels),
            data=twin(records, rows, study),
            kept=2,
            widest=8,
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
    return paper_gap(study, row) if row["comparison"] == study.main else PaperCell(None)


def _cell(row: dict | None) -> str:
    if row is None:
        return MISSING
    if not row["run"]:
        return NOT_RUN
    if is_missing(row["gap_pp"]):
        return "diverged" if lost_seeds(row) else MISSING
    mark = UNRELIABLE if is_true(row, "unreliable") else ""
    ends = interval(row["low_pp"], row["high_pp"]) if row["n_seeds"] > 1 else ""
    return f"{number(row['gap_pp'], signed=True)}{mark}\n{ends}".rstrip("\n")


def _seeds(cells: dict[str, dict]) -> str:
    counts = sorted({int(row["n_seeds"]) for row in cells.values() if row["run"]})
    if not counts:
        return MISSING
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _diverged(study: StudyFacts, title: str, row: dict) -> str:
    lost = lost_seeds(row)
    seeds = "1 seed is" if lost == 1 else f"{lost} seeds are"
    comparison = study.called("comparison", row["comparison"])
    optimizer = study.called("optimizer", row["optimizer"])
    return f"{optimizer}, {title}, {comparison}: {seeds} left out (diverged)."
