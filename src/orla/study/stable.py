"""Held-out scores of networks frozen on the way, computed when the grid of rates is finished.

Where weights move in each window, one freezing step says as much of that step as of the learner: so
they are means over the last windows.
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
from orla.study.recovery import recovery_percent
from orla.study.rolling import Batch, Measures
from orla.study.run import ConditionRun
from orla.study.scores import Scores

ERROR = "heldout_stable_error"
# Before the name of each further score of the loss.
PREFIX = "stable_"
# First of the keys of frozen networks, before the step and the parameter, "" of the state; no text,
# because the first of other keys may be a name that a user gives.
_FROZEN = ("frozen",)


def network_snapshots(batch: Batch, steps: Sequence[int]) -> Measures:
    """Parameters and states of the networks after each of the steps, for `mean_heldout_scores`."""
    by_step = {step: batch.result.snapshots[step] for step in steps}
    arrays = {step: {**params, "": state} for step, (params, state) in by_step.items()}
    return {
        (_FROZEN, step, n): p.cpu().numpy()
        for step, items in arrays.items()
        for n, p in items.items()
    }


def add_stable_means(
    run: ConditionRun,
    results: Mapping[int, Measures],
    steps: Sequence[int],
    for_resamples: bool = False,
) -> None:
    """Add to each rate's measures the means of held-out scores over weights frozen at `steps`.

    They are computed at the chosen rate and its runners-up, or `for_resamples` at all rates that
    some resample of the seeds can choose. Elsewhere they are null.
    """
    errors = {i: measures[rolling.ERROR] for i, measures in results.items()}
    pick = rates.undominated_rates if for_resamples else rates.chosen_and_runner_up_rates
    indices = pick(errors)
    means = mean_heldout_scores(run, results, indices, steps)
    start, goal = (run.baseline[f"{n}_error"] for n in ("frozen_heldout", "reference"))
    for i, measures in results.items():
        for name, by_rate in means.items():
            value = by_rate[indices.index(i)] if i in indices else np.nan
            measures[name] = np.where(measures["diverged"], np.nan, value)
        measures["recovery_stable_percent"] = recovery_percent(start, measures[ERROR], goal)


def mean_heldout_scores(
    run: ConditionRun,
    results: Mapping[int, Measures],
    indices: Sequence[int],
    steps: Sequence[int],
) -> dict[str, np.ndarray]:
    """Means (rates, seeds) of held-out scores over weights frozen at `steps`, at some rates.

    The error is `ERROR`, NaN where one of its errors is not finite or above
    `scores.DIVERGED_ABOVE`. `results` holds `network_snapshots` and the scores at the last step.
    """
    columns = list(run.loss.columns())
    names = [key[2] for key in results[indices[0]] if key[:2] == (_FROZEN, steps[0])]
    snapshot_keys = [(_FROZEN, step, name) for step in steps for name in names]
    values = {
        key: np.concatenate([results[i][key] for i in indices])
        for key in (*snapshot_keys, "heldout_error", *columns)
    }
    seed = np.tile(np.arange(run.seeds), len(indices))

    def score(index: np.ndarray) -> dict[str, np.ndarray]:
        arrays = {step: {} for step in steps}
        for _, step, name in snapshot_keys:
            arrays[step][name] = run.tensor(values[_FROZEN, step, name][index])
        snapshots = {step: (params, params.pop("")) for step, params in arrays.items()}
        last = values["heldout_error"][index], {name: values[name][index] for name in columns}
        error, further_scores = mean_frozen_scores(
            run, snapshots, run.whole_tensors(seed[index]), run.heldout, {run.adapt_steps: last}
        )
        by_name = {PREFIX + name: further_scores[name] for name in columns}
        return {ERROR: error} | by_name

    means = measure_in_batches(len(seed), run.batch_models, score)
    return {name: mean.reshape(len(indices), run.seeds) for name, mean in means.items()}


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
