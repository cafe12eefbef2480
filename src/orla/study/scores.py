"""Scores of frozen networks on a part of a stream: errors, recovery, further scores."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from orla.engine.update import Moments
from orla.losses.base import Loss
from orla.tasks.stream import Stream

# A model whose error is above this has diverged.
DIVERGED_ABOVE = 1e6
UNRELIABLE_BELOW = 0.05


def by_models(moments: Moments, name: str) -> Tensor | None:
    """An entry of a stream as losses take it: models first where each has its own."""
    if name not in moments:
        return None
    return moments[name].transpose(0, 1) if moments["x"].dim() == 3 else moments[name]


def mean_error(loss: Loss, outputs: Tensor, moments: Moments, part: slice) -> np.ndarray:
    """Mean error (models,) over the scored steps of `part` of a stream."""
    some = {name: m[part] for name, m in moments.items()}
    y, scored = by_models(some, "y"), by_models(some, "scored")
    return loss.mean(outputs[:, part], y, scored).double().cpu().numpy()


def further(loss: Loss, outputs: Tensor, moments: Moments, part: slice) -> dict[str, np.ndarray]:
    """The loss's own scores (models,) on `part` of a stream, such as R2."""
    some = {name: m[part] for name, m in moments.items()}
    return loss.scores(outputs[:, part], by_models(some, "y"), by_models(some, "scored"))


def constant_errors(loss: Loss, stream: Stream, n_out: int) -> np.ndarray:
    """Mean error of the best constant outputs on a stream's scored steps.

    Of shape (1,), or (seeds,) where each has a stream of its own. Computed in float64.
    """
    lead = (None,) if not stream.own else ()
    Y = stream.Y[lead]
    scored = np.ones(Y.shape[:2], bool) if stream.scored is None else stream.scored[lead]
    return np.array(
        [
            loss.constant_error(torch.as_tensor(y[counted]), n_out)
            for y, counted in zip(Y, scored, strict=True)
        ]
    )


def errors(loss: Loss, outputs: Tensor, moments: Moments) -> np.ndarray:
    """Error (models, steps) of each step; 0 where a step is not scored."""
    each = loss.errors(outputs, by_models(moments, "y"))
    scored = by_models(moments, "scored")
    return (each if scored is None else each.where(scored, 0.0)).double().cpu().numpy()


def window_means(values: np.ndarray, scored: Tensor | None, window: int) -> np.ndarray:
    """Means of errors (models, steps) over whole windows, (models, steps // window).

    scored: bool (models, steps) or (steps,), None where every step counts; a window without a
    scored step is NaN.
    """
    windows = values.shape[1] // window

    def cut(array: np.ndarray) -> np.ndarray:
        return array[:, : windows * window].reshape(len(array), windows, window)

    if scored is None:
        return cut(values).mean(2)
    counts = cut(torch.broadcast_to(scored, values.shape).cpu().numpy()).sum(2)
    with np.errstate(invalid="ignore"):
        return cut(values).sum(2) / counts


def recovery_percent(frozen: np.ndarray, adapted: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """100 (frozen - adapted) / (frozen - reference), all mean errors; NaN without a reference.

    0 is a network that does not adapt, 100 one that does as well as the reference.
    Source: docs/protocol.md, Recovery; the paper does not define it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return 100.0 * (frozen - adapted) / (frozen - reference)


def unreliable(frozen: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Whether the denominator of `recovery_percent` is too small (under 0.05) to divide by."""
    return ~((frozen - reference) >= UNRELIABLE_BELOW)


def diverged_steps(errors: np.ndarray, heldout: np.ndarray) -> np.ndarray:
    """First step (models,) whose error (models, steps) is not finite or above DIVERGED_ABOVE.

    -1 where there is none; the number of steps where only the held-out error (models,) is so.
    """
    bad = ~(errors <= DIVERGED_ABOVE)
    steps = np.where(bad.any(1), bad.argmax(1), -1)
    return np.where((steps < 0) & ~(heldout <= DIVERGED_ABOVE), errors.shape[1], steps)


def adapted_mean(errors: np.ndarray, scored: Tensor | None) -> np.ndarray:
    """Mean error (models,) over the scored steps that were adapted to."""
    if scored is None:
        return errors.mean(1)
    counts = torch.broadcast_to(scored, errors.shape).sum(1).cpu().numpy()
    return errors.sum(1) / counts
