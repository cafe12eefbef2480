"""Mean scores over weights frozen after each of the last windows of a part.

Where weights move in each window, one freezing step says as much of that step as of the learner.
Source: docs/protocol.md, Two estimands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.engine.loop import Moments
from orla.study import rates, rolling, scores
from orla.study.batches import in_batches
from orla.study.measurement import Batch, Measurement, Measures
from orla.study.run import ConditionRun
from orla.study.scores import Scores

# Before the name of each further score of the loss.
PREFIX = "stable_"
# Step -> parameters and network states of a batch of models, frozen there.
Frozen = Mapping[int, tuple[Parameters, Tensor]]
# Key of the numbers of all networks frozen before the held-out part: (models, steps, numbers).
_FROZEN = ("frozen",)


@dataclass(frozen=True)
class Stable(Measurement):
    """Means of held-out scores over weights frozen after each of the last windows.

    They are computed at the rates that some resample of seeds can choose: not where another rate
    has a lower error of validation in every seed. There they are null.

    Attributes:
        stable_windows: how many windows.
    """

    stable_windows: int = 10

    def points(self, run: ConditionRun) -> list[int]:
        return self._ends(run)

    def measure(self, batch: Batch) -> Measures:
        last = [_flat(batch.run, *batch.result.snapshots[at]) for at in self._ends(batch.run)]
        return {_FROZEN: torch.stack(last, 1).cpu().numpy()}

    def finish(self, run: ConditionRun, results: Mapping[int, Measures]) -> None:
        losers = rates.dominated_rates(
            {i: measures[rolling.ERROR] for i, measures in results.items()}
        )
        indices = sorted(results.keys() - losers)
        columns, ends = list(run.loss.columns()), self._ends(run)
        values_by_key = {
            key: np.concatenate([results[i][key] for i in indices])
            for key in (_FROZEN, "heldout_error", *columns)
        }
        seed = np.tile(np.arange(run.seeds), len(indices))

        def score(index: np.ndarray) -> dict[str, np.ndarray]:
            numbers = values_by_key[_FROZEN][index]
            frozen = {at: _unflat(run, numbers[:, i]) for i, at in enumerate(ends)}
            last = (
                values_by_key["heldout_error"][index],
                {name: values_by_key[name][index] for name in columns},
            )
            whole = run.whole(seed[index])
            error, further = means(run, frozen, whole, run.heldout, {run.steps: last})
            return {
                "heldout_stable_error": error,
                **{PREFIX + name: further[name] for name in columns},
            }

        stable_means = in_batches(len(seed), run.batch_models, score)
        frozen, reference = (run.baseline[f"{n}_error"] for n in ("frozen_heldout", "reference"))
        for i, measures in results.items():
            del measures[_FROZEN]
            for name, values in stable_means.items():
                by_rate = dict(zip(indices, np.split(values, len(indices)), strict=True))
                measures[name] = np.where(measures["diverged"], np.nan, by_rate.get(i, np.nan))
            measures["recovery_stable_percent"] = scores.recovery_percent(
                frozen, measures["heldout_stable_error"], reference
            )

    def _ends(self, run: ConditionRun) -> list[int]:
        return ends(run.steps, run.episode.window, self.stable_windows)


def _flat(run: ConditionRun, params: Parameters, state: Tensor) -> Tensor:
    """All numbers (models, numbers) of some networks and their states."""
    return torch.cat([*(params[name].flatten(1) for name in run.networks), state], 1)


def _unflat(run: ConditionRun, numbers: np.ndarray) -> tuple[Parameters, Tensor]:
    """The parameters and states that `_flat` joined."""
    shapes = {name: p.shape[1:] for name, p in run.networks.items()}
    pieces = np.split(numbers, np.cumsum([shape.numel() for shape in shapes.values()]), 1)
    *params, state = (run.tensor(np.ascontiguousarray(part)) for part in pieces)
    arrays = zip(shapes.items(), params, strict=True)
    return {name: part.reshape(-1, *shape) for (name, shape), part in arrays}, state


def ends(stop: int, window: int, windows: int) -> list[int]:
    """Last steps, counted from 1, of the last `windows` whole windows up to step `stop`.

    The first one first; fewer where there are fewer.
    """
    return list(range(stop - stop % window, 0, -window))[:windows][::-1]


def means(
    run: ConditionRun,
    frozen: Frozen,
    whole: Moments,
    part: slice,
    known_scores: Mapping[int, Scores],
) -> Scores:
    """Mean scores on a part of the streams `whole`, over the steps at which weights are frozen.

    From there each network runs on up to the part's end. `known_scores` holds scores on the same
    part, by weights frozen at some of the steps.

    Returns:
        Mean errors (models,), NaN where one of them is not finite or above
        `scores.DIVERGED_ABOVE`, and the mean of each further score of the loss (models,).
    """
    scores_by_step = [
        known_scores[at]
        if at in known_scores
        else run.frozen_scores(params, state, whole, part, since=at)
        for at, (params, state) in frozen.items()
    ]
    errors = [
        np.where(error <= scores.DIVERGED_ABOVE, error, np.nan) for error, _ in scores_by_step
    ]
    further = {
        name: np.mean([more[name] for _, more in scores_by_step], axis=0)
        for name in scores_by_step[0][1]
    }
    return np.mean(errors, axis=0), further
