"""Tables of gaps between learners: each of them, two by two, and over pairs of sessions."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pandas as pd

from orla.reports.cells import (
    Cell,
    Line,
    Row,
    cell,
    n_diverged,
    part_name,
    value,
    with_interval,
)
from orla.reports.estimates import (
    OF_HELDOUT,
    OVER_PAIRS,
    OVER_SEEDS,
    PAPERS_ESTIMAND,
    corner_rows,
    find_square,
    gap_text,
    guard_notes,
    recovery_text,
)
from orla.reports.numbers import MISSING, count, interval, is_missing, number, sample_size
from orla.reports.paper import load
from orla.reports.study import StudyFacts, where
from orla.reports.tables import shared
from orla.reports.tables.base import Contents, Table
from orla.reports.words import NOT_RUN
from orla.results.estimands import ESTIMAND_WORDS


def _papers_gap_text(line: Line) -> str:
    """The paper's number over its interval, or its words in two lines."""
    there = line.row["cells"].get(line.study.main, {})
    text = shared.paper_text(there, "gap_pp", signed=True)
    if not is_missing(there.get("paper_text")):
        return text.replace(" ", "\n", 1)
    return f"{text}\n{interval(there.get('paper_low'), there.get('paper_high'))}".rstrip("\n")


def _seeds_text(line: Line) -> str:
    """How many seeds the gaps of a line have, smallest to largest."""
    counts = [int(r["n_seeds"]) for r in line.row["cells"].values() if r.get("run", True)]
    return "–".join(map(str, sorted({min(counts), max(counts)}))) if counts else MISSING


def _gap_column(header: str, comparison: str, group: str, blank: str = MISSING) -> Cell:
    """A comparison's gap; `blank` where the line has none."""

    def text(line: Line) -> str:
        row = line.row["cells"].get(comparison)
        if row is None:
            return blank
        return gap_text(row) if row.get("run", True) else NOT_RUN

    return cell(header, text, group)


def optimizer_lines(rows: list[Row]) -> list[Row]:
    """A line an optimizer: its rows by comparison, under "cells"."""
    lines: dict[str, dict[str, Row]] = {}
    for row in rows:
        lines.setdefault(row["optimizer"], {})[row["comparison"]] = row
    return [{"optimizer": name, "cells": cells} for name, cells in lines.items()]


class _Gaps(Table):
    """A panel a condition and estimand, named where `names_estimand` or where there are several."""

    names_estimand: ClassVar[bool] = True

    def panels(self, rows: pd.DataFrame, study: StudyFacts) -> Iterator[tuple[str, list[Row]]]:
        several = self.names_estimand or rows["estimand"].nunique() > 1
        for name, words in ESTIMAND_WORDS.items():
            groups = study.groups(where(rows, estimand=name), *self.by, without=self.without)
            for title, keys, group in groups:
                yield title + f": {words}" * several, self.panel_rows(keys, group, study)


class BciGap(
    _Gaps, name="bci_gap", label="Gaps between learners", chapter="drift", order=20,
    needs=("estimates",),
):  # fmt: skip
    """Every comparison of the study by optimizer, and the paper's gap beside its own."""

    names_estimand = False
    layout: ClassVar = {"fixed_columns": 2, "widest": 7}
    lines = staticmethod(optimizer_lines)

    def caption(self, rows: pd.DataFrame, study: StudyFacts) -> str:
        words = map(study.comparison_text, study.distinct(rows, "comparison") or [study.main])
        return (
            "Differences of recovery (pp), with those of R² and of the error (sign reversed). "
            + " ".join(f"{text[:1].upper()}{text[1:]}." for text in words)
            + f" Brackets: {OVER_SEEDS}; n: paired seeds."
        )

    def rows(self, estimates: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        papers = load().gaps.assign(comparison=study.main, estimand=PAPERS_ESTIMAND)
        return shared.with_paper_rows(estimates, study, papers, study.main)

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        cells = [part_name("optimizer"), cell("n", _seeds_text)]
        for name in study.distinct(rows, "comparison") or [study.main]:
            # "full − immediate, per step" is a group of columns and a header.
            label = study.called("comparison", name)
            group, _, header = label.rpartition(", ")
            if name == study.main and rows["paper_place"].notna().any():
                cells.append(_gap_column("ours", name, group or label))
                cells.append(cell("paper", _papers_gap_text, group or label))
            else:
                cells.append(_gap_column(header, name, group))
        return cells

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        n_gaps = sum(n_diverged(row) > 0 for row in contents.records)
        note = f"{n_gaps} of these gaps leave out seeds of which a model diverged: see the .csv."
        guards = guard_notes(contents.records, contents.panels)
        return [note] * bool(n_gaps) + guards + shared.mark_notes(contents.panels)


_NO_SQUARE = "The study's comparisons form no two by two: it needs two gradients at two cadences."
_GRADIENT, _CADENCE = "Gradient: full − immediate (pp)", "Cadence: per window − per step (pp)"
# Of the four comparisons of a square.
_HEADERS = (
    ("per step", _GRADIENT),
    ("per window", _GRADIENT),
    ("immediate gradient", _CADENCE),
    ("full gradient", _CADENCE),
)


class TwoByTwo(
    _Gaps, name="two_by_two", label="Gradient and cadence, two by two", chapter="cadence",
    order=10, needs=("estimates",),
):  # fmt: skip
    """Recovery of two gradients at two cadences, and their four differences, by optimizer."""

    says = f"""Recovery of the held-out error (%) of two gradients at two cadences, and what each of
    the two adds (pp, with differences of R² and of the error, sign reversed). Brackets:
    {OVER_SEEDS}; n: seeds."""
    empty = False
    layout: ClassVar = {"fixed_columns": 2, "widest": 6}
    lines = staticmethod(optimizer_lines)

    def rows(self, estimates: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        rows = estimates[estimates["comparison"].isin(find_square(study) or ())]
        return rows[rows["estimand"].isin(OF_HELDOUT)]

    def columns(self, rows: pd.DataFrame, study: StudyFacts) -> Sequence[Cell]:
        if (square := find_square(study)) is None:
            return [part_name("optimizer")]

        def recovery_column(corner: int, learner: str) -> Cell:
            def text(line: Line) -> str:
                where = corner_rows(line.row["cells"], square)[corner]
                return recovery_text(*where) if where else NOT_RUN

            header = study.called("learner", learner).replace(", ", ",\n")
            return cell(header, text, "Recovery (%)")

        gaps = zip(_HEADERS, square, strict=True)
        return [
            part_name("optimizer"),
            cell("n", _seeds_text),
            *(recovery_column(i, name) for i, name in enumerate(square.learners(study))),
            *(_gap_column(header, name, group, NOT_RUN) for (header, group), name in gaps),
        ]

    def panel_rows(self, keys: Row, rows: pd.DataFrame, study: StudyFacts) -> list[Row]:
        if rows["comparison"].nunique() == 1:  # one difference stands among the gaps
            return []
        lines = optimizer_lines(rows.to_dict("records"))
        return [row for line in lines for row in line["cells"].values()]

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        notes = guard_notes(contents.records, contents.panels)
        return notes or [_NO_SQUARE] * (not find_square(study))


_ENDS = ("low", "high")


def _sample_sizes_text(line: Line) -> str:
    sizes = " × ".join(count(line.row[name]) for name in ("n_pairs", "n_seeds"))
    return sample_size(sizes, n_diverged(line.row), "\n")


def _error_gap_text(line: Line) -> str:
    """The gap of errors, its interval at 1 - 2 alpha and the smallest margin that it passes."""
    row = line.row
    if is_missing(row.get("error_gap")):
        return MISSING
    gap, smallest = number(row["error_gap"], 3, signed=True), number(row["error_delta_star"], 3)
    return f"{gap}\n{interval(row['error_t90_low'], row['error_t90_high'], 3)}\nδ* {smallest}"


class OverPairs(
    _Gaps, name="over_pairs", label="Gaps over pairs of sessions", chapter="by_pair", order=10,
    needs=("over_pairs",),
):  # fmt: skip
    """Each gap's mean over pairs, its intervals, and the interval for a new pair."""

    says = f"""Differences of held-out recovery (pp) and of R², each the mean over pairs of the mean
    over seeds. Brackets: {OVER_PAIRS}. Error: what registrations judge, the second learner's error
    minus the first's in units of the target's variance (of categories in nats), its 90 % t
    interval, and δ*. New pair: 95 % prediction interval of one pair's mean; mixed model: REML, pair
    as random intercept; sd: between pairs, and of seeds within a pair."""
    by, without = ("comparison",), "pair"
    empty = False
    layout: ClassVar = {"widest": 6}
    cells = (
        part_name("optimizer"),
        cell("Pairs × seeds", _sample_sizes_text),
        cell("Gap", lambda line: gap_text(line.row)),
        cell("Error", _error_gap_text),
        cell("New pair",
             lambda o: interval(*(o.row[f"prediction_{e}_pp"] for e in _ENDS)) or MISSING),
        with_interval("Mixed model", *(f"mixed_{e}_pp" for e in ("gap", *_ENDS)), n="", signed=True,
             stacked=True),
        cell("sd", lambda o: "\n".join(number(o.row[f"{s}_sd_pp"]) for s in ("between", "within"))),
        value("δ*", "delta_star_pp"),
        value("Failing", "n_failing", count),
    )  # fmt: skip

    def rows(self, over_pairs: pd.DataFrame, *, study: StudyFacts) -> pd.DataFrame:
        # A pair without a gap fails a guard.
        return over_pairs[over_pairs[["n_pairs", "n_failing"]].max(axis=1) > 1]

    def notes(self, contents: Contents, study: StudyFacts, *results: pd.DataFrame) -> list[str]:
        one_pair = "No task has more than one pair of sessions with these learners."
        return super().notes(contents, study) if contents.panels else [one_pair]
