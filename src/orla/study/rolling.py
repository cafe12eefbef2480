"""The error that a learning rate is chosen by: rolling-origin validation within the adapt part.

Source: docs/protocol.md, Choice of the learning rate; Hyndman and Athanasopoulos, Forecasting:
Principles and Practice, Time series cross-validation.
"""

from __future__ import annotations

import numpy as np

from orla.errors import OrlaError
from orla.study import scores
from orla.study.measurement import Batch, Choice, Measurement, Measures
from orla.study.run import ConditionRun
from orla.tasks.episode import Episode

ERROR = "validation_rolling_error"
# Windows after an origin that are scored.
AHEAD = 3


class RollingValidation(Measurement):
    """Mean error over origins: weights frozen there, scored on the next windows.

    A model that diverged while it adapted, or diverges on a scored window, has none.
    """

    choices = (Choice(ERROR, mark="selected", edge="edge", grows=True),)

    def points(self, run: ConditionRun) -> list[int]:
        return [part.start for part in parts(run.episode, run.chosen_on)]

    def measure(self, batch: Batch) -> Measures:
        return {ERROR: errors(batch, batch.run.chosen_on)}


def parts(episode: Episode, steps: int) -> list[slice]:
    """What is scored from each origin on, of the first `steps` of the adapt part.

    The part has n whole windows; origins are the ends of windows floor(n / 2) + 1 to n - 1 (of two
    windows, of the first), and each is scored on the three windows after it, as far as there are.
    An origin after which no step is scored is left out.

    Raises:
        OrlaError: The part has fewer than two windows, or no origin is left.
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


def errors(batch: Batch, steps: int) -> np.ndarray:
    """The error (models,) of adaptation to the first `steps` steps; NaN of a diverged model."""
    frozen = [batch.frozen_scores(part.start, part)[0] for part in parts(batch.run.episode, steps)]
    step_errors = batch.result.errors[:, :steps]
    fine = (step_errors <= scores.DIVERGED_ABOVE).all(1)
    fine &= (np.stack(frozen) <= scores.DIVERGED_ABOVE).all(0)
    return np.where(fine, np.mean(frozen, axis=0), np.nan)
