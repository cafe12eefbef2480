"""Measurements of a sweep: what a measure is computed from, chosen by, and written as."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from orla.engine.loop import Adaptation, Moments
from orla.study import efficiency, refits, scores
from orla.study.run import ConditionRun
from orla.study.scores import Scores
from orla.study.tidy import Rows

# Of the seeds at one rate, (seeds, ...) each. Entries whose key is a string are measures of models,
# (seeds,); others are arrays that the measurement itself reads when the grid is finished.
Measures = dict[Hashable, np.ndarray]


UNADAPTED = ("frozen", "reference")
"""Networks that do not adapt, of which the loss's further scores are measured too."""


class Choice(NamedTuple):
    """A choice of the learning rate: that of the lowest mean over seeds of one measure.

    by: The measure.
    mark: Measure that marks the models at the chosen rate.
    edge: Measure that says whether that rate lies on the edge of its grid; "" for none.
    grows: Whether the grid grows until the rate does not lie there.
    """

    by: str
    mark: str
    edge: str = ""
    grows: bool = False


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

    run: ConditionRun
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
            last = self.result.state.params, self.result.state.network
            frozen = self.result.snapshots.get(at, last)
            self._scores[key] = self.run.frozen_scores(*frozen, self.whole, part, since=at)
        return self._scores[key]


class Measurement:
    """A part of what a sweep measures of its models; its fields are options of the sweep."""

    choices: ClassVar[tuple[Choice, ...]] = ()

    def points(self, run: ConditionRun) -> list[int]:
        """Steps of the adapt part, multiples of the window, after which snapshots are needed.

        Raises:
            OrlaError: The options do not fit the condition.
        """
        return []

    def measure(self, batch: Batch) -> Measures:
        """Measures (models,) of a batch, and arrays (models, ...) for later."""
        return {}

    def finish(self, run: ConditionRun, results: Mapping[int, Measures]) -> None:
        """Add to the measures of each rate, {number: measures}, when the grid is finished."""

    def rows(self, run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
        """Further rows of the long table, beside one a model for each measure."""
        yield from ()


class Errors(Measurement):
    """Errors on the selection part, while adapting, and held out, with their recovery.

    A model that diverged has none but the selection part's, and that one only where it diverged
    after the part and not on it.
    """

    choices = (
        Choice("adapt_error", mark="selected_on_adapt", edge="edge_on_adapt"),
        Choice("validation_error", mark="selected_on_tail"),
        Choice("heldout_error", mark="selected_on_test"),
    )

    def points(self, run: ConditionRun) -> list[int]:
        return [run.episode.selection_cut]

    def measure(self, batch: Batch) -> Measures:
        run, errors, cut = batch.run, batch.result.errors, batch.run.episode.selection_cut
        validation, _ = batch.frozen_scores(cut, slice(cut, run.steps))
        heldout, further = batch.frozen_scores(run.steps, run.heldout)
        adapt_error = scores.adapted_mean(errors, scores.by_models(batch.adapt, "scored"))
        step = scores.diverged_steps(errors, heldout)
        diverged = step >= 0
        no_validation = diverged & (step < cut) | ~(validation <= scores.DIVERGED_ABOVE)
        frozen = {name: values[batch.seed] for name, values in run.baseline.items()}
        reference = frozen["reference_error"]
        by_part = {
            "validation": np.where(no_validation, np.nan, validation),
            "adapt": np.where(diverged, np.nan, adapt_error),
            "heldout": np.where(diverged, np.nan, heldout),
        }
        baseline = ("frozen_heldout", "frozen_adapt", "reference", "constant")
        return {
            "diverged": diverged,
            "diverged_step": step,
            **{f"{part}_error": error for part, error in by_part.items()},
            **{f"{name}_error": frozen[f"{name}_error"] for name in baseline},
            **{name: score for name, score in frozen.items() if name.startswith(refits.PREFIX)},
            **{name: frozen[name] for name in efficiency.MEASURES},
            **{
                f"recovery_{part}_percent": scores.recovery_percent(
                    frozen[f"frozen_{part}_error"], error, reference
                )
                for part, error in by_part.items()
            },
            **{f"{part}_{n}": frozen[f"{part}_{n}"] for part in UNADAPTED for n in further},
            **{name: np.where(diverged, np.nan, score) for name, score in further.items()},
            "unreliable": scores.unreliable(frozen["frozen_heldout_error"], reference),
            "updates": np.full(len(step), errors.shape[1] // run.loop.learner.stride),
        }
