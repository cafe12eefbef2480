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
        return _names_by_learners(study).get((last, first))


def find_square(study: StudyFacts) -> Square | None:
    """The first four comparisons that form a two by two, or None."""
    named = _names_by_learners(study)
    strides = {pair: {study.stride(learner) for learner in pair} for pair in named}
    alike = {pair: s.pop() for pair, s in strides.items() if len(s) == 1 and None not in s}
    for step, window in product(alike, repeat=2):  # pairs of full and immediate, at two cadences
        sides = (window[1], step[1]), (window[0], step[0])
        if alike[step] < alike[window] and named.keys() >= {*sides}:
            return Square(named[step], named[window], *(named[side] for side in sides))
    return None


def recovery_rows(
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


def _names_by_learners(study: StudyFacts) -> dict[tuple[str, str], str]:
    """The name of each comparison, by its two learners."""
    return {(c.minuend, c.subtrahend): name for name, c in study.comparisons.items()}
