"""Measurements of a sweep: what a measure is computed from, chosen by, and written as."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from orla.engine.loop import Adaptation, Moments
from orla.study.study import Scores, Study
from orla.study.tidy import Rows

# Of the seeds at one rate, (seeds, ...) each. Entries whose key is a string are measures of models,
# (seeds,); others are arrays that the measurement itself reads when the grid is finished.
Measures = dict[Hashable, np.ndarray]


class Choice(NamedTuple):
    """A choice of the learning rate: that of the lowest mean over seeds of one measure.

    by: The measure.
    mark: Measure that marks the models at the chosen rate.
    edge: Measure that says whether that rate lies on the edge of its grid, which grows until it
        does not; "" for a choice that no grid grows by.
    """

    by: str
    mark: str
    edge: str = ""


@dataclass(frozen=True)
class Batch:
    """Models that were adapted together.

    Attributes:
        run: their condition.
        seed: seed of each model, (models,).
        adapt, whole: their streams: the adapt part, and that with the held-out part.
        result: of their adaptation, with a snapshot at each of the measurements' points.
        measures: what was measured of them before.
    """

    run: Study
    seed: np.ndarray
    adapt: Moments
    whole: Moments
    result: Adaptation
    measures: Measures = field(default_factory=dict)
    _scores: dict[tuple[int, int, int], Scores] = field(default_factory=dict)

    def frozen_scores(self, at: int, part: slice) -> Scores:
        """Scores on a part of `whole` by weights frozen at step `at`; computed once."""
        key = at, part.start, part.stop
        if key not in self._scores:
            frozen = self.result.snapshots.get(at)
            if frozen is None:
                frozen = self.result.state.params, self.result.state.network
            self._scores[key] = self.run.frozen_scores(*frozen, self.whole, part, since=at)
        return self._scores[key]


class Measurement:
    """A part of what a sweep measures of its models; its fields are options of the sweep."""

    choices: ClassVar[tuple[Choice, ...]] = ()

    def points(self, run: Study) -> list[int]:
        """Steps of the adapt part, multiples of the window, after which snapshots are needed.

        Raises:
            OrlaError: The options do not fit the condition.
        """
        return []

    def of_batch(self, batch: Batch) -> Measures:
        """Measures (models,) of a batch, and arrays (models, ...) for later."""
        return {}

    def finish(self, run: Study, done: Mapping[int, Measures]) -> None:
        """Add to the measures of each rate, {number: measures}, when the grid is finished."""

    def rows(self, run: Study, done: Mapping[int, Measures]) -> Iterator[Rows]:
        """Further rows of the long table, beside one a model for each measure."""
        yield from ()
