"""Errors of models: while adapting, held out, and those that rates are chosen by.

A rate is chosen by rolling-origin validation within the adapt part. Source: docs/protocol.md,
Choice of the learning rate; Hyndman and Athanasopoulos, Forecasting: Principles and Practice, Time
series cross-validation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from orla.engine.loop import Adaptation, StreamTensors
from orla.errors import OrlaError, prefix_errors
from orla.study import efficiency, rates, refits, scores
from orla.study.recovery import is_unreliable, recovery_percent
from orla.study.run import ConditionRun
from orla.study.scores import Scores
from orla.tasks.episode import Episode

# Of the seeds at one rate, (seeds, ...) each. Entries whose key is a string are measures of models,
# (seeds,); others are arrays that are read when the grid is finished.
Measures = dict[Hashable, np.ndarray]

UNADAPTED = ("frozen", "reference")
"""Networks that do not adapt, of which the loss's further scores are measured too."""

ERROR = "validation_rolling_error"
# Measure -> those that mark the models at the rate of its lowest mean over seeds, and say whether
# that rate lies on the edge of its grid. The grid grows until that of `ERROR` does not.
CHOICES = {
    "adapt_error": ("selected_on_adapt", "edge_on_adapt"),
    "validation_error": ("selected_on_tail", ""),
    "heldout_error": ("selected_on_test", ""),
    ERROR: ("selected", "edge"),
}
# Windows after an origin that are scored.
AHEAD = 3


@dataclass(frozen=True)
class Batch:
    """Models that were adapted together.

    Attributes:
        seed: seed of each model, (models,).
        adapt, whole: their streams: the adapt part, and that with the held-out part.
        result: of their adaptation, with a snapshot at each of the measurements' points.
        measures: what was measured of them before.
    """

    run: ConditionRun
    seed: np.ndarray
    adapt: StreamTensors
    whole: StreamTensors
    result: Adaptation
    measures: Measures = field(default_factory=dict)
    _scores: dict[tuple[int, int, int], Scores] = field(default_factory=dict)

    def frozen_scores(self, at: int, part: slice) -> Scores:
        """Scores on a part of `whole` by weights frozen at step `at`; computed once."""
        key = at, part.start, part.stop
        if key not in self._scores:
            last = self.result.state.params, self.result.state.network
            snapshot = self.result.snapshots.get(at, last)
            self._scores[key] = self.run.frozen_scores(*snapshot, self.whole, part, since=at)
        return self._scores[key]


def rolling_origin_spans(episode: Episode, steps: int) -> list[slice]:
    """The span that is scored after each origin, within the first `steps` of the adapt part.

    The part has n whole windows; origins are the ends of windows floor(n / 2) + 1 to n - 1 (of two
    windows, of the first), and each is scored on the three windows after it, as far as there are.
    An origin after which no step is scored is left out.
    """
    window, mask = episode.window, episode.adapt.scored
    n = steps // window
    if n < 2:
        raise OrlaError(
            f"{steps} steps are {n} windows of {window}, and a rate is chosen by one after another;"
            " adapt for two windows at least"
        )
    spans = [
        slice(origin * window, min(origin + AHEAD, n) * window)
        for origin in range(min(n // 2 + 1, n - 1), n)
    ]
    if mask is not None:
        spans = [part for part in spans if mask[..., part].any(-1).all()]
    if not spans:
        raise OrlaError(
            f"no step after the middle of {steps} is scored in every stream, and a rate is chosen"
            " there; adapt for longer"
        )
    return spans


def rolling_origin_error(batch: Batch, steps: int) -> np.ndarray:
    """Mean error (models,) over origins within the first `steps`; NaN of a diverged model."""
    errors = [
        batch.frozen_scores(part.start, part)[0]
        for part in rolling_origin_spans(batch.run.episode, steps)
    ]
    fine = (batch.result.errors[:, :steps] <= scores.DIVERGED_ABOVE).all(1)
    fine &= (np.stack(errors) <= scores.DIVERGED_ABOVE).all(0)
    return np.where(fine, np.mean(errors, axis=0), np.nan)


def mean_error_of_last_tenth(batch: Batch) -> np.ndarray:
    """Mean error (models,) over the last tenth of the adapt part, each step before its own update.

    The paper does not say which steps its "post-shift MSE" is a mean of; of deep networks and of
    Lorenz it is far below the mean over the whole part (docs/tasks.md). A model that diverged has
    none, nor has a tenth without a scored step.
    """
    step_errors, mask = batch.result.errors, scores.entry_models_first(batch.adapt, "scored")
    steps = step_errors.shape[1]
    last = slice(steps - max(steps // 10, 1), None)
    error = scores.mean_adapting_error(
        step_errors[:, last], mask if mask is None else mask[..., last]
    )
    return np.where(batch.measures["diverged"], np.nan, error)


def snapshot_steps(run: ConditionRun, horizons: Sequence[int]) -> list[int]:
    """Steps after which snapshots are needed; a horizon that does not fit is refused."""
    split = run.keys["split"]
    spans = rolling_origin_spans(run.episode, run.rate_selection_steps)
    rates.require_horizons(horizons, run.episode.window, run.adapt_steps, split)
    for horizon in horizons:
        with prefix_errors(f"horizons.steps has {horizon} ({split})"):
            spans += rolling_origin_spans(run.episode, horizon)
    return [run.episode.selection_cut, *horizons, *(part.start for part in spans)]


def error_measures(batch: Batch) -> Measures:
    """Errors on the selection part, while adapting, and held out, with their recovery.

    A model that diverged has none but the selection part's, and that one only where it diverged
    after the part and not on it.
    """
    run, step_errors, end = batch.run, batch.result.errors, batch.run.episode.selection_cut
    validation, _ = batch.frozen_scores(end, slice(end, run.adapt_steps))
    heldout, further_scores = batch.frozen_scores(run.adapt_steps, run.heldout)
    adapt_error = scores.mean_adapting_error(
        step_errors, scores.entry_models_first(batch.adapt, "scored")
    )
    step = scores.diverged_steps(step_errors, heldout)
    has_diverged = step >= 0
    no_validation = has_diverged & (step < end) | ~(validation <= scores.DIVERGED_ABOVE)
    baseline = {name: values[batch.seed] for name, values in run.baseline.items()}
    reference = baseline["reference_error"]
    by_part = {
        "validation": np.where(no_validation, np.nan, validation),
        "adapt": np.where(has_diverged, np.nan, adapt_error),
        "heldout": np.where(has_diverged, np.nan, heldout),
    }
    baseline_names = ("frozen_heldout", "frozen_adapt", "reference", "constant")
    return {
        "diverged": has_diverged,
        "diverged_step": step,
        **{f"{part}_error": error for part, error in by_part.items()},
        **{f"{name}_error": baseline[f"{name}_error"] for name in baseline_names},
        **{name: score for name, score in baseline.items() if name.startswith(refits.PREFIX)},
        **{name: baseline[name] for name in efficiency.MEASURES},
        **{
            f"recovery_{part}_percent": recovery_percent(
                baseline[f"frozen_{part}_error"], error, reference
            )
            for part, error in by_part.items()
        },
        **{f"{part}_{n}": baseline[f"{part}_{n}"] for part in UNADAPTED for n in further_scores},
        **{name: np.where(has_diverged, np.nan, score) for name, score in further_scores.items()},
        "unreliable": is_unreliable(baseline["frozen_heldout_error"], reference),
        "updates": np.full(len(step), step_errors.shape[1] // run.loop.learner.stride),
        ERROR: rolling_origin_error(batch, run.rate_selection_steps),
    }
