"""Scores that do not hang on one instant: weights frozen after each of the last windows of a part.

Where weights move in each window, one freezing step says as much of that step as of the learner.
Source: docs/protocol.md, Two estimands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from orla.engine.loop import Adaptation, Moments
from orla.programs import compiling
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
    frozen_at = ends(part.start, study.episode.window, windows)
    scored = dict(known)
    if missing := [at for at in frozen_at if at not in known]:
        run = _one_by_one if compiling.enabled() else _together
        scored |= run(study, result, whole, part, missing)
    errors, further = [], []
    for at in frozen_at:
        error, more = scored[at]
        errors.append(np.where(error <= scores.DIVERGED_ABOVE, error, np.nan))
        further.append(more)
    each = {name: np.mean([more[name] for more in further], axis=0) for name in further[0]}
    return np.mean(errors, axis=0), each


def _one_by_one(
    study: Study, result: Adaptation, whole: Moments, part: slice, frozen_at: Sequence[int]
) -> dict[int, Scores]:
    """Scores by freezing step; the program that scores the batch elsewhere serves here too."""
    return {
        at: study.frozen_scores(*result.snapshots[at], whole, part, since=at) for at in frozen_at
    }


def _together(
    study: Study, result: Adaptation, whole: Moments, part: slice, frozen_at: Sequence[int]
) -> dict[int, Scores]:
    """The same in one run of all networks; without a program the time is that of its operations.

    Each network begins at its own step, and its stream is filled up with zeros, not scored.
    """
    kept = [result.snapshots[at] for at in frozen_at]
    models, steps = len(kept[0][1]), part.stop - frozen_at[0]
    params = {name: torch.cat([p[name] for p, _ in kept]) for name in kept[0][0]}
    streams: Moments = {}
    for name in ("x", "starts"):
        if name in whole:
            own = [_of_each(whole, name, slice(at, part.stop), models, steps) for at in frozen_at]
            streams[name] = torch.cat(own, 1)
    state = torch.cat([network for _, network in kept])
    outputs = study.outputs(params, state, streams).split(models)
    stream, found = {name: m[part] for name, m in whole.items()}, {}
    for at, own in zip(frozen_at, outputs, strict=True):
        last = own[:, part.start - at : part.stop - at]
        error = scores.mean_error(study.loss, last, stream, slice(None))
        found[at] = error, scores.further(study.loss, last, stream, slice(None))
    return found


def _of_each(whole: Moments, name: str, part: slice, models: int, steps: int) -> Tensor:
    """Entries (steps, models, ...) of a part of a stream, zeros after its end."""
    entries = whole[name][part]
    if whole["x"].dim() == 2:
        entries = entries[:, None].expand(-1, models, *entries.shape[1:])
    return torch.cat([entries, entries.new_zeros(steps - len(entries), *entries.shape[1:])])
