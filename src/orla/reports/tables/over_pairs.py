"""Gaps over pairs of sessions."""

from __future__ import annotations

from typing import Any

import pandas as pd

from orla.reports.estimates import ESTIMANDS, OVER_PAIRS, estimands, gap_lines, guard_notes
from orla.reports.numbers import MISSING, count, estimate, interval, number
from orla.reports.study import StudyFacts
from orla.reports.table import Column, Panel, TableDocument
from orla.reports.tables.base import Table
from orla.reports.tables.shared import lost_seeds, twin


class OverPairs(
    Table,
    name="over_pairs",
    label="Gaps over pairs of sessions",
    chapter="by_pair",
    order=10,
    needs=("over_pairs",),
):
    """Each gap's mean over pairs, its intervals, and the interval for a new pair.

    A gap of one pair alone is not shown: it has none of these.
    """

    def build(self, gaps: pd.DataFrame, *, study: StudyFacts) -> TableDocument:
        panels, records = [], []
        # A pair without a gap fails a guard.
        several = gaps[["n_pairs", "n_failing"]].max(axis=1) > 1
        shown = gaps[several].assign(pair="")
        for estimand in estimands(shown):
            part = shown[shown["estimand"] == estimand]
            for title, _, group in study.groups(part, "comparison"):
                rows = group.to_dict("records")
                title = f"{title}: {ESTIMANDS.get(estimand, estimand)}"
                panels.append(Panel(title, [_line(study, row) for row in rows]))
                records += rows
        return self.document(
            study,
            "Differences of held-out recovery (pp), each the mean over pairs of the mean over "
            f"seeds, with differences of R² and MSE. Brackets: {OVER_PAIRS}; new pair: 95 % "
            "prediction interval of one pair's mean; resampled: pairs, seeds and the choice of "
            "rates; mixed model: REML, pair as random intercept; sd: between pairs, and of seeds "
            "within a pair.",
            columns=[
                Column("Optimizer"),
                Column("Pairs × seeds", "r"),
                Column("Gap", "r"),
                Column("New pair", "r"),
                Column("Resampled", "r"),
                Column("Mixed model", "r"),
                Column("sd", "r"),
                Column("δ*", "r"),
                Column("Failing", "r"),
            ],
            panels=panels,
            notes=guard_notes(records, panels) if panels else [_ONE_PAIR],
            data=twin(records, gaps, study).drop(columns="pair", errors="ignore"),
            widest=6,
            ran=bool(panels),
        )


_ONE_PAIR = "No task has more than one pair of sessions with these learners."


def _line(study: StudyFacts, row: dict[str, Any]) -> tuple[str, ...]:
    lost = lost_seeds(row)
    mixed = estimate(row["mixed_gap_pp"], row["mixed_low_pp"], row["mixed_high_pp"], signed=True)
    return (
        study.called("optimizer", row["optimizer"]),
        f"{count(row['n_pairs'])} × {count(row['n_seeds'])}" + (f"\n({lost} div.)" if lost else ""),
        gap_lines(row),
        interval(row["prediction_low_pp"], row["prediction_high_pp"]) or MISSING,
        interval(row["resampled_low_pp"], row["resampled_high_pp"]) or MISSING,
        mixed.replace(" ", "\n", 1),
        f"{number(row['between_sd_pp'])}\n{number(row['within_sd_pp'])}",
        number(row["delta_star_pp"]),
        count(row["n_failing"]),
    )
