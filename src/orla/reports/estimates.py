"""What tables and figures of estimates share: meaning, cells, notes, and the two by two."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import pandas as pd

from orla.reports.numbers import estimate, interval, is_missing, number, or_default
from orla.reports.study import StudyFacts
from orla.reports.table import Panel
from orla.results import guards
from orla.study.keys import SETTING

OVER_SEEDS = "95 % t interval over seeds of one pair"
OVER_PAIRS = "95 % t interval over pairs"
NO_MEANING = "–¶"
GUARD_MARK = "‡"
# What an estimand is called, in the order in which they are shown.
# What a reader calls the decoders of `baselines`.
BASELINES = {"ridge": "ridge", "recursive": "RLS", "kalman": "Kalman", "readout": "readout"}
OF_HELDOUT = ("stable", "heldout")
PAPERS_ESTIMAND = OF_HELDOUT[1]
# Metrics of the multiverse; R2 and the error are in hundredths there.
METRICS = {
    "heldout": "recovery, frozen at the end",
    "stable": "recovery, last freezings",
    "adapt": "recovery, adapt part",
    "r2": "R²",
    "error": "error, sign reversed",
}
# At most this many seeds or pairs are all drawn as points.
FEW_POINTS = 5


def recovery_has_meaning(row: Mapping[str, Any]) -> bool:
    """Whether recovery says anything here: its denominator is clear."""
    if is_missing(row.get("denominator")):
        return not or_default(row.get("unreliable"), False)
    error = or_default(row.get("denominator_se"), float("nan"))
    return not guards.denominator_fails(row["denominator"], error)


def fails_guard(row: Mapping[str, Any]) -> bool:
    """Whether a guard fails: of a pair's estimate, or in one of its pairs."""
    return bool(or_default(row.get("guards"), "")) or or_default(row.get("n_failing"), 0) > 0


def with_points(rows: pd.DataFrame, seeds: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as dicts, each with its rows of `seed_gaps` under "points"."""
    keys = [key for key in (*SETTING, "comparison", "estimand") if key in rows and key in seeds]
    row_indices = seeds.groupby(keys, sort=False).indices if len(seeds) else {}
    return [
        row | {"points": seeds.iloc[row_indices.get(tuple(row[key] for key in keys), [])]}
        for row in rows.to_dict("records")
    ]


def gap_text(row: Mapping[str, Any]) -> str:
    """A gap, its interval, and the differences of R2 and error (sign reversed), a line each."""
    if not recovery_has_meaning(row):
        lines = [NO_MEANING]
    elif is_missing(row["gap_pp"]):
        lines = ["diverged" if or_default(row["n_diverged"], 0) > 0 else NO_MEANING]
    else:
        ends = interval(row["t95_low_pp"], row["t95_high_pp"])
        lines = [number(row["gap_pp"], signed=True) + GUARD_MARK * fails_guard(row)]
        lines += [ends] if ends else []
    for name, column in (("R²", "r2_gap"), ("−Δerror", "error_gap")):
        if not is_missing(row.get(column)):
            lines.append(f"{name} {number(row[column], 3, signed=True)}")
    return "\n".join(lines)


def recovery_text(row: Mapping[str, Any], column_prefix: str) -> str:
    """Recovery of a learner and its interval, from the columns that begin with `column_prefix`."""
    value = row.get(f"{column_prefix}_percent")
    if is_missing(value) or not recovery_has_meaning(row):
        return NO_MEANING
    ends = (row[f"{column_prefix}_{end}_percent"] for end in ("low", "high"))
    return estimate(value, *ends).replace(" ", "\n")


def guard_notes(rows: list[dict[str, Any]], panels: list[Panel]) -> list[str]:
    """What the marks in these panels mean: each guard's reason once, with the number of gaps."""
    notes, text = [], "".join(panel.text for panel in panels)
    if NO_MEANING in text:
        notes.append(
            "¶ recovery has no meaning here: its denominator, frozen minus reference error, is too "
            "small or too uncertain."
        )
    if GUARD_MARK in text:
        failures = (str(or_default(row.get("guards"), "")).split("; ") for row in rows)
        reasons = Counter(reason for row_reasons in failures for reason in row_reasons if reason)
        notes += [f"‡ {reason} ({n} gap{'' if n == 1 else 's'})." for reason, n in reasons.items()]
        if any(or_default(row.get("n_failing"), 0) > 0 for row in rows):
            notes.append("‡ a guard fails in at least one pair; the column says in how many.")
    return notes


class Square(NamedTuple):
    """The four comparisons: of gradients at each cadence, of cadences for each gradient."""

    per_step: str
    per_window: str
    immediate: str
    full: str

    def learners(self, study: StudyFacts) -> tuple[str, str, str, str]:
        """Immediate per step and per window, full per step and per window."""
        step, window = study.comparison(self.per_step), study.comparison(self.per_window)
        return step.subtrahend, window.subtrahend, step.minuend, window.minuend

    def diagonal(self, study: StudyFacts) -> str | None:
        """The comparison that changes both at once, full per window minus immediate per step."""
        first, _, _, last = self.learners(study)
        return _comparison_names_by_learners(study).get((last, first))


def find_square(study: StudyFacts) -> Square | None:
    """The first four comparisons that form a two by two, or None."""
    names = _comparison_names_by_learners(study)
    strides = {pair: {study.stride(learner) for learner in pair} for pair in names}
    alike = {pair: s.pop() for pair, s in strides.items() if len(s) == 1 and None not in s}
    for step, window in product(alike, repeat=2):  # pairs of full and immediate, at two cadences
        sides = (window[1], step[1]), (window[0], step[0])
        if alike[step] < alike[window] and names.keys() >= {*sides}:
            return Square(names[step], names[window], *(names[side] for side in sides))
    return None


def corner_rows(
    cells: Mapping[str, Mapping[str, Any]], square: Square
) -> list[tuple[Mapping[str, Any], str] | None]:
    """A row that holds a recovery, and its side, the first words of its columns.

    They are for immediate and full, each per step and per window; None where no row holds it.
    """
    sides = ("recovery_immediate", "recovery_full")  # of the subtrahend and of the minuend
    places = (
        ((of_gradient, sides[full]), (of_cadence, sides[window]))
        for full, of_cadence in enumerate((square.immediate, square.full))
        for window, of_gradient in enumerate((square.per_step, square.per_window))
    )
    return [
        next(((cells[name], side) for name, side in where if name in cells), None)
        for where in places
    ]


def _comparison_names_by_learners(study: StudyFacts) -> dict[tuple[str, str], str]:
    return {(c.minuend, c.subtrahend): name for name, c in study.comparisons.items()}
