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
from orla.study.study import Scores, Study

# Before the name of each further score of the loss.
PREFIX = "stable_"
# Step -> parameters and network states of a batch of models, frozen there.
Frozen = Mapping[int, tuple[Parameters, Tensor]]


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

    def points(self, run: Study) -> list[int]:
        return self._ends(run, run.episode.selection_cut) + self._ends(run, run.steps)

    def of_batch(self, batch: Batch) -> Measures:
        run, cut = batch.run, batch.run.episode.selection_cut
        selecting, snapshots = slice(cut, run.steps), batch.result.snapshots
        frozen = {at: snapshots[at] for at in self._ends(run, cut)}
        known = {cut: batch.frozen_scores(cut, selecting)}
        error, _ = means(run, frozen, batch.whole, selecting, known)
        lost = np.isnan(batch.measures["validation_error"])
        return {
            "validation_stable_error": np.where(lost, np.nan, error),
            **{
                (Stable, at, name): values.cpu().numpy()
                for at in self._ends(run, run.steps)
                for name, values in {**snapshots[at][0], "": snapshots[at][1]}.items()
            },
        }

    def finish(self, run: Study, done: Mapping[int, Measures]) -> None:
        numbers = [i for i in sorted(done) if self.stable_everywhere or i not in _beaten(done)]
        seed = np.tile(np.arange(run.seeds), len(numbers))
        columns = list(run.loss.columns())
        names = ["heldout_stable_error", *(PREFIX + name for name in columns)]
        together = {
            key: np.concatenate([done[i][key] for i in numbers])
            for key in done[numbers[0]]
            if key in ("heldout_error", *columns) or key[0] is Stable
        }

        def score(index: np.ndarray) -> dict[str, np.ndarray]:
            part = {key: values[index] for key, values in together.items()}
            frozen = {
                at: (
                    {
                        k[2]: run.tensor(v)
                        for k, v in part.items()
                        if k[:2] == (Stable, at) and k[2]
                    },
                    run.tensor(part[Stable, at, ""]),
                )
                for at in self._ends(run, run.steps)
            }
            known = {run.steps: (part["heldout_error"], {name: part[name] for name in columns})}
            error, further = means(run, frozen, run.whole(seed[index]), run.heldout, known)
            return dict(zip(names, (error, *(further[name] for name in columns)), strict=True))

        scored = in_batches(len(seed), run.batch_models, score)
        of_rate = {name: iter(np.split(values, len(numbers))) for name, values in scored.items()}
        baseline = (run.baseline[f"{name}_error"] for name in ("frozen_heldout", "reference"))
        frozen, reference = baseline
        for i in sorted(done):
            for key in [key for key in done[i] if key[0] is Stable]:
                del done[i][key]
            lost = done[i]["diverged"] | (i not in numbers)
            for name in names:
                done[i][name] = np.where(lost, np.nan, next(of_rate[name]) if i in numbers else 0.0)
            done[i]["recovery_stable_percent"] = scores.recovery_percent(
                frozen, done[i]["heldout_stable_error"], reference
            )

    def _ends(self, run: Study, stop: int) -> list[int]:
        return ends(stop, run.episode.window, self.stable_windows)


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
    run: Study, frozen: Frozen, whole: Moments, part: slice, known: Mapping[int, Scores]
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


def _one_by_one(run: Study, frozen: Frozen, whole: Moments, part: slice) -> dict[int, Scores]:
    """Scores by freezing step; the program that scores the batch elsewhere serves here too."""
    return {
        at: run.frozen_scores(params, state, whole, part, since=at)
        for at, (params, state) in frozen.items()
    }


def _together(run: Study, frozen: Frozen, whole: Moments, part: slice) -> dict[int, Scores]:
    """The same in one run of all networks; without a program the time is that of its operations.

    Each network begins at its own step, and its stream is filled up with zeros, not scored.
    """
    networks = list(frozen.values())
    models, steps = len(networks[0][1]), part.stop - min(frozen)
    params = {name: torch.cat([p[name] for p, _ in networks]) for name in networks[0][0]}
    streams: Moments = {
        name: torch.cat(
            [_of_each(whole, name, slice(at, part.stop), models, steps) for at in frozen], 1
        )
        for name in ("x", "starts")
        if name in whole
    }
    state = torch.cat([network for _, network in networks])
    outputs = run.outputs(params, state, streams).split(models)
    stream = {name: m[part] for name, m in whole.items()}
    scored = {}
    for at, of_step in zip(frozen, outputs, strict=True):
        last = of_step[:, part.start - at : part.stop - at]
        error = scores.mean_error(run.loss, last, stream, slice(None))
        scored[at] = error, scores.further(run.loss, last, stream, slice(None))
    return scored


def _of_each(whole: Moments, name: str, part: slice, models: int, steps: int) -> Tensor:
    """Entries (steps, models, ...) of a part of a stream, zeros after its end."""
    entries = whole[name][part]
    if whole["x"].dim() == 2:
        entries = entries[:, None].expand(-1, models, *entries.shape[1:])
    return torch.cat([entries, entries.new_zeros(steps - len(entries), *entries.shape[1:])])
