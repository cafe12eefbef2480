"""The error while learning over the last stretch of the adapt part."""

from __future__ import annotations

import numpy as np

from orla.study import scores
from orla.study.measurement import Batch, Measurement, Measures

PARTS = 10  # of the adapt part, of which the last is the stretch


class LastStretch(Measurement):
    """Mean error over the last tenth of the adapt part's steps, each before its own update.

    The paper does not say which steps its "post-shift MSE" is a mean of; of deep networks and of
    Lorenz it is far below the mean over the whole part (docs/tasks.md). A model that diverged has
    none, nor has a tenth without a scored step.
    """

    def measure(self, batch: Batch) -> Measures:
        errors, mask = batch.result.errors, scores.by_models(batch.adapt, "scored")
        steps = errors.shape[1]
        last = slice(steps - max(steps // PARTS, 1), None)
        some = mask if mask is None else mask[..., last]
        error = scores.adapted_mean(errors[:, last], some)
        return {"last_adapt_error": np.where(batch.measures["diverged"], np.nan, error)}
