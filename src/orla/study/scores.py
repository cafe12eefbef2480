"""Scores of frozen networks on a part of a stream: errors and further scores."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from orla.engine.update import StreamTensors
from orla.losses.base import Loss
from orla.tasks.stream import Stream

# A model whose error is above this has diverged.
DIVERGED_ABOVE = 1e6
# Mean error (models,), and the loss's further scores (models,) by column.
Scores = tuple[np.ndarray, dict[str, np.ndarray]]


def entry_models_first(stream: StreamTensors, name: str) -> Tensor | None:
    """An entry of a stream with models first where each has its own, as losses take it, or None."""
    if name not in stream:
        return None
    return stream[name].transpose(0, 1) if stream["x"].dim() == 3 else stream[name]


def mean_scores(
    loss: Loss, outputs: Tensor, stream: StreamTensors, part: slice = slice(None)
) -> Scores:
    """Mean error on a part of a stream, and the loss's own scores, such as R2."""
    some = {name: m[part] for name, m in stream.items()}
    arguments = outputs[:, part], entry_models_first(some, "y"), entry_models_first(some, "scored")
    return loss.mean_error(*arguments).double().cpu().numpy(), loss.scores(*arguments)


def constant_errors(loss: Loss, stream: Stream, n_out: int) -> np.ndarray:
    """Mean error of the best constant outputs, (1,), or (seeds,) of streams of their own."""
    lead = () if stream.per_seed else (None,)
    Y = stream.Y[lead]
    masks = np.ones(Y.shape[:2], bool) if stream.scored is None else stream.scored[lead]
    targets_by_stream = (torch.as_tensor(y[mask]) for y, mask in zip(Y, masks, strict=True))
    return np.array([loss.constant_error(targets, n_out) for targets in targets_by_stream])


def step_errors(loss: Loss, outputs: Tensor, stream: StreamTensors) -> np.ndarray:
    """Error (models, steps) of each step; 0 where a step is not scored."""
    step_errors = loss.step_losses(outputs, entry_models_first(stream, "y"))
    if (mask := entry_models_first(stream, "scored")) is not None:
        step_errors = step_errors.where(mask, 0.0)
    return step_errors.double().cpu().numpy()


def window_means(values: np.ndarray, mask: Tensor | None, window: int) -> np.ndarray:
    """Means of errors (models, steps) over the scored steps of whole windows, (models, windows).

    mask: bool (models, steps) or (steps,), None where every step counts; a window without a
    scored step is NaN.
    """
    windows = values.shape[1] // window
    values = values[:, : windows * window].reshape(len(values), windows, window)
    if mask is None:
        return values.mean(2)
    counts = mask[..., : windows * window].reshape(-1, windows, window).sum(2).cpu().numpy()
    with np.errstate(invalid="ignore"):
        return values.sum(2) / counts


def mean_adapting_error(errors: np.ndarray, mask: Tensor | None) -> np.ndarray:
    """Mean error (models,) over the scored steps that were adapted to."""
    return window_means(errors, mask, errors.shape[1])[:, 0]


def diverged_steps(errors: np.ndarray, heldout_error: np.ndarray) -> np.ndarray:
    """First step (models,) whose error (models, steps) is not finite or above DIVERGED_ABOVE.

    -1 where there is none; the number of steps where only the held-out error (models,) is so.
    """
    bad = ~(errors <= DIVERGED_ABOVE)
    steps = np.where(bad.any(1), bad.argmax(1), -1)
    return np.where((steps < 0) & ~(heldout_error <= DIVERGED_ABOVE), errors.shape[1], steps)
