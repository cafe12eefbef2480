"""Scores that do not hang on one instant: weights frozen after each of the last windows of a part.

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
from orla.programs import compiling
from orla.study import rates, scores
from orla.study.batches import in_batches
from orla.study.measurement import Batch, Choice, Measurement, Measures
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
    """Means of scores over weights frozen after each of the last windows before a scored part.

    Attributes:
        stable_windows: how many windows.
        stable_everywhere: score the held-out part at all rates. Otherwise only at those that some
            resample of seeds can choose: not where other rates have lower errors in every seed, by
            each choice of a rate. There the measures are null.
    """

    stable_windows: int = 10
    stable_everywhere: bool = False
    choices = (Choice("validation_stable_error", mark="selected_stable", edge="edge_stable"),)

    def points(self, run: ConditionRun) -> list[int]:
        return self._ends(run, run.episode.selection_cut) + self._ends(run, run.steps)

    def of_batch(self, batch: Batch) -> Measures:
        run, cut = batch.run, batch.run.episode.selection_cut
        selecting, snapshots = slice(cut, run.steps), batch.result.snapshots
        frozen = {at: snapshots[at] for at in self._ends(run, cut)}
        known = {cut: batch.frozen_scores(cut, selecting)}
        error, _ = means(run, frozen, batch.whole, selecting, known)
        lost = np.isnan(batch.measures["validation_error"])
        last = [_flat(run, *snapshots[at]) for at in self._ends(run, run.steps)]
        return {
            "validation_stable_error": np.where(lost, np.nan, error),
            _FROZEN: torch.stack(last, 1).cpu().numpy(),
        }

    def finish(self, run: ConditionRun, done: Mapping[int, Measures]) -> None:
        beaten = set() if self.stable_everywhere else _beaten(done)
        scored = sorted(done.keys() - beaten)
        columns, ends = list(run.loss.columns()), self._ends(run, run.steps)
        given = {
            key: np.concatenate([done[i][key] for i in scored])
            for key in (_FROZEN, "heldout_error", *columns)
        }
        seed = np.tile(np.arange(run.seeds), len(scored))

        def score(index: np.ndarray) -> dict[str, np.ndarray]:
            numbers = given[_FROZEN][index]
            frozen = {at: _unflat(run, numbers[:, i]) for i, at in enumerate(ends)}
            last = given["heldout_error"][index], {name: given[name][index] for name in columns}
            whole = run.whole(seed[index])
            error, further = means(run, frozen, whole, run.heldout, {run.steps: last})
            return {
                "heldout_stable_error": error,
                **{PREFIX + name: further[name] for name in columns},
            }

        found = in_batches(len(seed), run.batch_models, score)
        frozen, reference = (run.baseline[f"{n}_error"] for n in ("frozen_heldout", "reference"))
        for i, measures in done.items():
            del measures[_FROZEN]
            for name, values in found.items():
                by_rate = dict(zip(scored, np.split(values, len(scored)), strict=True))
                measures[name] = np.where(measures["diverged"], np.nan, by_rate.get(i, np.nan))
            measures["recovery_stable_percent"] = scores.recovery_percent(
                frozen, measures["heldout_stable_error"], reference
            )

    def _ends(self, run: ConditionRun, stop: int) -> list[int]:
        return ends(stop, run.episode.window, self.stable_windows)


def _flat(run: ConditionRun, params: Parameters, state: Tensor) -> Tensor:
    """All numbers (models, numbers) of some networks and their states."""
    return torch.cat([*(params[name].flatten(1) for name in run.networks), state], 1)


def _unflat(run: ConditionRun, numbers: np.ndarray) -> tuple[Parameters, Tensor]:
    """The parameters and states that `_flat` joined."""
    shapes = {name: p.shape[1:] for name, p in run.networks.items()}
    split = np.split(numbers, np.cumsum([shape.numel() for shape in shapes.values()]), 1)
    *params, state = (run.tensor(np.ascontiguousarray(part)) for part in split)
    each = zip(shapes.items(), params, strict=True)
    return {name: part.reshape(-1, *shape) for (name, shape), part in each}, state


def _beaten(done: Mapping[int, Measures]) -> set[int]:
    """Numbers of the rates that no resample of seeds chooses, by either error of validation."""
    by = ("validation_error", "validation_stable_error")
    return set.intersection(*(rates.beaten({i: m[name] for i, m in done.items()}) for name in by))


def ends(stop: int, window: int, windows: int) -> list[int]:
    """Last steps, counted from 1, of the last `windows` whole windows up to step `stop`.

    The first one first; fewer where there are fewer.
    """
    return list(range(stop - stop % window, 0, -window))[:windows][::-1]


def means(
    run: ConditionRun, frozen: Frozen, whole: Moments, part: slice, known: Mapping[int, Scores]
) -> Scores:
    """Mean scores on a part of the streams `whole`, over the steps at which weights are frozen.

    From there each network runs on up to the part's end. `known` holds scores on the same part, by
    weights frozen at some of the steps.

    Returns:
        Mean errors (models,), NaN where one of them is not finite or above
        `scores.DIVERGED_ABOVE`, and the mean of each further score of the loss (models,).
    """
    scored = {at: known[at] for at in frozen if at in known}
    if missing := {at: frozen[at] for at in frozen if at not in known}:
        score = _one_by_one if compiling.enabled() else _together
        scored |= score(run, missing, whole, part)
    each = [scored[at] for at in frozen]
    errors = [np.where(error <= scores.DIVERGED_ABOVE, error, np.nan) for error, _ in each]
    further = {name: np.mean([more[name] for _, more in each], axis=0) for name in each[0][1]}
    return np.mean(errors, axis=0), further


def _one_by_one(
    run: ConditionRun, frozen: Frozen, whole: Moments, part: slice
) -> dict[int, Scores]:
    """Scores by freezing step; the program that scores the batch elsewhere serves here too."""
    return {
        at: run.frozen_scores(params, state, whole, part, since=at)
        for at, (params, state) in frozen.items()
    }


def _together(run: ConditionRun, frozen: Frozen, whole: Moments, part: slice) -> dict[int, Scores]:
    """The same in one run of all networks; without a program the time is that of its operations.

    Each network begins at its own step, and its stream is filled up with zeros, not scored.
    """
    params, states = zip(*frozen.values(), strict=True)
    models, steps = len(states[0]), part.stop - min(frozen)
    joined = {name: torch.cat([p[name] for p in params]) for name in params[0]}

    def of_each(name: str, at: int) -> Tensor:
        entries = whole[name][at : part.stop]
        if whole["x"].dim() == 2:
            entries = entries[:, None].expand(-1, models, *entries.shape[1:])
        return torch.cat([entries, entries.new_zeros(steps - len(entries), *entries.shape[1:])])

    streams: Moments = {
        name: torch.cat([of_each(name, at) for at in frozen], 1)
        for name in ("x", "starts")
        if name in whole
    }
    outputs = run.outputs(joined, torch.cat(states), streams).split(models)
    stream = {name: m[part] for name, m in whole.items()}
    return {
        at: scores.scored(run.loss, of_step[:, part.start - at : part.stop - at], stream)
        for at, of_step in zip(frozen, outputs, strict=True)
    }
