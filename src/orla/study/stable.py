"""Mean scores over weights frozen after each of the last windows of a part.

Where weights move in each window, one freezing step says as much of that step as of the learner.
Source: docs/protocol.md, Two estimands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from orla.architectures.base import Parameters
from orla.engine.loop import StreamTensors
from orla.study import rates, rolling, scores
from orla.study.batches import measure_in_batches
from orla.study.rolling import Batch, Measures
from orla.study.run import ConditionRun
from orla.study.scores import Scores

# Before the name of each further score of the loss.
PREFIX = "stable_"
# First of the keys of frozen networks, before the step and the parameter, "" of the state; no text,
# because the first of other keys may be a name that a user gives.
_FROZEN = ("frozen",)


def network_snapshots(batch: Batch, steps: Sequence[int]) -> Measures:
    """Parameters and states of the networks after each of the steps, for `add_stable_means`."""
    by_step = {step: batch.result.snapshots[step] for step in steps}
    arrays = {step: {**params, "": state} for step, (params, state) in by_step.items()}
    return {
        (_FROZEN, step, n): p.cpu().numpy()
        for step, items in arrays.items()
        for n, p in items.items()
    }


def add_stable_means(
    run: ConditionRun, results: Mapping[int, Measures], steps: Sequence[int]
) -> None:
    """Add to each rate's measures the means of held-out scores over weights frozen at `steps`.

    They are computed at the rates that some resample of seeds can choose: not where another rate
    has a lower error of validation in every seed. There they are null.
    """
    losers = rates.dominated_rates({i: m[rolling.ERROR] for i, m in results.items()})
    indices = sorted(results.keys() - losers)
    columns = list(run.loss.columns())
    of_networks = [key for key in results[indices[0]] if key[0] == _FROZEN]
    values = {
        key: np.concatenate([results[i][key] for i in indices])
        for key in (*of_networks, "heldout_error", *columns)
    }
    seed = np.tile(np.arange(run.seeds), len(indices))

    def score(index: np.ndarray) -> dict[str, np.ndarray]:
        arrays = {step: {} for step in steps}
        for _, step, name in of_networks:
            arrays[step][name] = run.tensor(values[_FROZEN, step, name][index])
        snapshots = {step: (params, params.pop("")) for step, params in arrays.items()}
        last = values["heldout_error"][index], {name: values[name][index] for name in columns}
        whole_tensors = run.whole_tensors(seed[index])
        error, further_scores = mean_frozen_scores(
            run, snapshots, whole_tensors, run.heldout, {run.adapt_steps: last}
        )
        by_name = {PREFIX + name: further_scores[name] for name in columns}
        return {"heldout_stable_error": error} | by_name

    stable_means = measure_in_batches(len(seed), run.batch_models, score)
    start, goal = (run.baseline[f"{n}_error"] for n in ("frozen_heldout", "reference"))
    for i, measures in results.items():
        for key in of_networks:
            del measures[key]
        for name, by_model in stable_means.items():
            by_rate = dict(zip(indices, np.split(by_model, len(indices)), strict=True))
            measures[name] = np.where(measures["diverged"], np.nan, by_rate.get(i, np.nan))
        measures["recovery_stable_percent"] = scores.recovery_percent(
            start, measures["heldout_stable_error"], goal
        )


def last_window_ends(stop: int, window: int, windows: int) -> list[int]:
    """Last steps, from 1, of the last `windows` whole windows up to step `stop`, or of all."""
    return list(range(stop - stop % window, 0, -window))[:windows][::-1]


def mean_frozen_scores(
    run: ConditionRun,
    snapshots: Mapping[int, tuple[Parameters, Tensor]],
    whole_tensors: StreamTensors,
    part_slice: slice,
    known_scores: Mapping[int, Scores],
) -> Scores:
    """Mean scores on a part of whole streams, over the steps at which weights are frozen.

    `snapshots` holds parameters and network states by step; each network runs on from there to the
    part's end. `known_scores` are scores on the same part by weights frozen at some of the steps. A
    mean error (models,) is NaN where one of its errors is not finite or above
    `scores.DIVERGED_ABOVE`.
    """
    by_step = [
        known_scores[step]
        if step in known_scores
        else run.frozen_scores(params, state, whole_tensors, part_slice, since=step)
        for step, (params, state) in snapshots.items()
    ]
    errors = [np.where(error <= scores.DIVERGED_ABOVE, error, np.nan) for error, _ in by_step]
    further_scores = {
        name: np.mean([more[name] for _, more in by_step], axis=0) for name in by_step[0][1]
    }
    return np.mean(errors, axis=0), further_scores
