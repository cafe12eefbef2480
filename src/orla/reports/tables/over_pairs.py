"""Gaps over pairs of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import pandas as pd

from orla.reports.cells import Line, called, cell, ends, value
from orla.reports.estimates import (
    ESTIMANDS,
    OVER_PAIRS,
    gap_lines,
    guard_notes,
)
from orla.reports.numbers import MISSING, count, interval, number
from orla.reports.rows import Contents, Row, Rows, by_estimand
from orla.reports.study import StudyFacts
from orla.reports.tables.shared import (
    lost_seeds,
)


def _sizes(line: Line) -> str:
    lost = lost_seeds(line.row)
    sizes = " × ".join(count(line.row[name]) for name in ("n_pairs", "n_seeds"))
    return sizes + (f"\n({lost} div.)" if lost else "")


def _interval(name: str) -> Callable[[Line], str]:
    return lambda line: interval(*(line.row[f"{name}_{e}_pp"] for e in ("low", "high"))) or MISSING


_MIXED = ends("", "mixed_gap_pp", "mixed_low_pp", "mixed_high_pp", n="", signed=True).text


class OverPairs(
    Rows,
    name="over_pairs",
    label="Gaps over pairs of sessions",
    chapter="by_pair",
    order=10,
    needs=("over_pairs",),
):
    """Each gap's mean over pairs, its intervals, and the interval for a new pair.

    A gap of one pair alone is not shown: it has none of these.
    """

    says = (
        "Differences of held-out recovery (pp), each the mean over pairs of the mean over "
        f"seeds, with differences of R² and MSE. Brackets: {OVER_PAIRS}; new pair: 95 % "
        "prediction interval of one pair's mean; resampled: pairs, seeds and the choice of "
        "rates; mixed model: REML, pair as random intercept; sd: between pairs, and of seeds "
        "within a pair."
    )
    empty = False
    layout: ClassVar = {"widest": 6}
    cells = (
        called("optimizer"),
        cell("Pairs × seeds", _sizes),
        cell("Gap", lambda line: gap_lines(line.row)),
        cell("New pair", _interval("prediction")),
        cell("Resampled", _interval("resampled")),
        cell("Mixed model", lambda line: _MIXED(line).replace(" ", "\n", 1)),
        cell("sd", lambda o: "\n".join(number(o.row[f"{s}_sd_pp"]) for s in ("between", "within"))),
        value("δ*", "delta_star_pp"),
        value("Failing", "n_failing", count),
    )

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        # A pair without a gap fails a guard.
        several = rows[["n_pairs", "n_failing"]].max(axis=1) > 1
        rows = rows[several].assign(pair="")
        for estimand, title, group in by_estimand(rows, study, "comparison"):
            yield f"{title}: {ESTIMANDS.get(estimand, estimand)}", group.to_dict("records")

    def record(self, row: Row, study: StudyFacts) -> Row:
        return {name: number for name, number in row.items() if name != "pair"}

    def notes(self, contents: Contents, study: StudyFacts, *needed: pd.DataFrame) -> list[str]:
        one_pair = "No task has more than one pair of sessions with these learners."
        return guard_notes(contents.records, contents.panels) if contents.panels else [one_pair]
