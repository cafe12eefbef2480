"""The two by two of a study: two gradients at two cadences, found among its comparisons."""

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from orla.reports.study import StudyFacts


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
        return _named(study).get((last, first))


def square(study: StudyFacts) -> Square | None:
    """The first four comparisons that form a two by two, or None."""
    named = _named(study)
    for ((full, immediate), per_step), ((full_window, immediate_window), per_window) in product(
        named.items(), repeat=2
    ):
        steps = {study.stride(name) for name in (immediate, full)}
        windows = {study.stride(name) for name in (immediate_window, full_window)}
        sides = (immediate_window, immediate), (full_window, full)
        alike = None not in steps | windows and len(steps) == len(windows) == 1
        if alike and min(steps) < min(windows) and named.keys() >= {*sides}:
            return Square(per_step, per_window, *(named[side] for side in sides))
    return None


def recoveries(
    cells: Mapping[str, Mapping[str, Any]], square: Square
) -> list[tuple[Mapping[str, Any], str] | None]:
    """For immediate and full, each per step and per window: a row that holds it, and its side, the
    first words of its columns.
    """
    first, second = "recovery_full", "recovery_immediate"
    places = (
        ((square.per_step, second), (square.immediate, second)),
        ((square.per_window, second), (square.immediate, first)),
        ((square.per_step, first), (square.full, second)),
        ((square.per_window, first), (square.full, first)),
    )
    return [
        next(((cells[name], side) for name, side in where if name in cells), None)
        for where in places
    ]


def _named(study: StudyFacts) -> dict[tuple[str, str], str]:
    return {(c.minuend, c.subtrahend): name for name, c in study.comparisons.items()}
