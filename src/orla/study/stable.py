"""Scores that do not hang on one instant: weights frozen after each of the last windows of a part.

Where weights move in each window, one freezing step says as much of that step as of the learner.
Source: docs/protocol.md, Two estimands.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orla.engine.loop import Adaptation, Moments
from orla.study import scores
from orla.study.study import Scores, Study

# Before the name of each further score of the loss.
PREFIX = "stable_"


def ends(stop: int, window: int, windows: int) -> list[int]:
    """Last steps, counted from 1, of the last `windows` whole windows up to step `stop`.

    The first one first; fewer where there are fewer.
    """
    return list(range(stop - stop % window, 0, -window))[:windows][::-1]


def points(study: Study, windows: int) -> list[int]:
    """Steps at which weights are frozen, for the selection part and for the held-out part."""
    window = study.episode.window
    return ends(study.episode.selection_cut, window, windows) + ends(study.steps, window, windows)


def columns(study: Study) -> list[str]:
    """Columns of the loss's further scores: stable_r2_mean, ..."""
    return [PREFIX + name for name in study.loss.columns()]


def means(
    study: Study,
    result: Adaptation,
    whole: Moments,
    part: slice,
    windows: int,
    known: Mapping[int, Scores],
) -> Scores:
    """Mean scores on `part`, over weights frozen after each of the last windows before it.

    From where its weights are frozen each network runs on up to the part's end.

    Args:
        study: The condition.
        result: Of a batch, with snapshots after each of those windows that is not `known`.
        whole: The stream of the batch, from `Study.whole`.
        part: Steps of `whole` that are scored.
        windows: How many windows.
        known: {step: scores on the same part, weights frozen at that step}.

    Returns:
        Mean errors (models,), NaN where one of them is not finite or above
        `scores.DIVERGED_ABOVE`, and the mean of each further score of the loss (models,).
    """
    errors, further = [], []
    for at in ends(part.start, study.episode.window, windows):
        if at in known:
            error, more = known[at]
        else:
            error, more = study.frozen_scores(*result.snapshots[at], whole, part, since=at)
        errors.append(np.where(error <= scores.DIVERGED_ABOVE, error, np.nan))
        further.append(more)
    each = {name: np.mean([more[name] for more in further], axis=0) for name in further[0]}
    return np.mean(errors, axis=0), each
