"""One condition: all its seeds at all its learning rates, adapted, selected and scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orla import progress
from orla.errors import OrlaError
from orla.study import horizons as at_horizons
from orla.study import rates, scores
from orla.study.batches import in_batches, moments
from orla.study.study import Study

Measures = dict[str, np.ndarray]


@dataclass(frozen=True)
class Sweep:
    """A condition's models, one row each (columns: docs/reference.md), their traces and horizons.

    traces: {"error": (models, windows), "frozen_error": (seeds, windows)}, mean errors by window.
    horizons: one row a seed and horizon, at the selected rate: the condition's keys, seed,
        horizon_steps, recovery_heldout_percent (missing for a model that diverged before the
        horizon) and learning_rate.
    """

    models: pd.DataFrame
    traces: dict[str, np.ndarray]
    horizons: pd.DataFrame


def sweep(
    study: Study, learning_rates: Sequence[float], growth: int, horizons: Sequence[int] = ()
) -> Sweep:
    """Adapt every seed at every rate, growing the grid until the best rate is interior.

    The best rate has the lowest mean error on the selection part, the last share of the adapt part,
    with weights frozen where it begins. The choice does not use held-out errors.

    Args:
        study: Networks, data and condition.
        learning_rates: Neighbouring half-decade rates to begin with.
        growth: Half decades that the grid may grow by on each side.
        horizons: Steps after which the models are also scored on the held-out part, weights frozen
            there: the state runs on through the rest of the adapt part.

    Raises:
        OrlaError: The grid is no half-decade grid, or a horizon is no multiple of the window or
            beyond the adapt part.
    """
    first = rates.grid(learning_rates)
    _check(study, horizons)
    done: dict[int, Measures] = {}
    todo: list[int] = list(first)
    name = f"{study.keys['learner']} + {study.keys['optimizer']}, {study.keys['split']}"
    with progress.bar(study.steps * study.seeds * len(todo), name, "step") as bar:
        while todo:
            if done:
                bar.total += study.steps * study.seeds
            done |= _measure(study, todo, horizons, bar)
            validation = {i: measured["validation_error"] for i, measured in done.items()}
            best = rates.best(validation)
            for index, measured in done.items():
                if index != best:
                    at_horizons.forget(measured)
            beyond = rates.missing_neighbour(validation, first, growth)
            todo = [] if beyond is None else [beyond]
    return _tabulated(study, done, horizons)


def _check(study: Study, horizons: Sequence[int]) -> None:
    window = study.episode.window
    for horizon in horizons:
        if horizon % window or not 0 < horizon <= study.steps:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of the window ({window}) up to"
                f" the {study.steps} steps that are adapted to ({study.keys['split']})"
            )


def _measure(
    study: Study, indices: Sequence[int], horizons: Sequence[int], bar: Any
) -> dict[int, Measures]:
    """Measures of all seeds at the rates numbered `indices`: {number: {measure: (seeds, ...)}}."""
    # Models are ordered by rate, then seed; `by_rate` below relies on it.
    rate = np.repeat([rates.half_decade(i) for i in indices], study.seeds)
    seed = np.tile(np.arange(study.seeds), len(indices))

    def measure(index: np.ndarray) -> Measures:
        count = len(np.unique(index))
        return _adapt_batch(study, seed[index], rate[index], count, horizons, bar)

    joined = in_batches(len(rate), study.batch_models, measure)
    by_rate = {k: v.reshape(len(indices), study.seeds, *v.shape[1:]) for k, v in joined.items()}
    return {i: {k: v[j] for k, v in by_rate.items()} for j, i in enumerate(indices)}


def _adapt_batch(
    study: Study,
    seed: np.ndarray,
    rate: np.ndarray,
    count: int,
    horizons: Sequence[int],
    bar: Any,
) -> Measures:
    episode = study.episode
    adapt = moments(episode.adapt, seed, study.dtype, study.device)
    state = study.loop.start(study.batch(seed), seeds=seed.tolist())
    result = study.loop.run(
        state,
        study.tensor(rate),
        adapt,
        snapshots=[episode.selection_cut, *horizons],
        on_segment=lambda steps: progress.advance(bar, steps * count),
    )
    cut, steps = episode.selection_cut, study.steps
    validation, _ = study.frozen_scores(*result.snapshots[cut], seed, slice(cut, steps), since=cut)
    heldout, further = study.frozen_scores(
        state.params, state.network, seed, study.heldout, since=steps
    )
    scored = scores.by_models(adapt, "scored")
    updates = result.errors.shape[1] // study.loop.learner.stride
    measured = {
        "diverged_step": scores.diverged_steps(result.errors, heldout),
        "validation_error": validation,
        "adapt_error": scores.adapted_mean(result.errors, scored),
        "heldout_error": heldout,
        **further,
        **{n: v for p in study.loop.probes for n, v in p.summary(result.series).items()},
        "updates": np.full(len(rate), updates),
        "window_errors": scores.window_means(result.errors, scored, episode.window),
        **at_horizons.stood(result, horizons),
    }
    return _without_diverged(study, measured)


def _further_columns(study: Study) -> list[str]:
    """Columns of the loss and of the probes."""
    probed = (name for probe in study.loop.probes for name in probe.part.more["columns"])
    return [*study.loss.columns(), *probed]


def _without_diverged(study: Study, measured: Measures) -> Measures:
    """Set the measures of diverged models to NaN.

    The selection score is NaN only where a model diverged before the selection part or on it.
    """
    step = measured["diverged_step"]
    diverged = step >= 0
    for name in ("adapt_error", "heldout_error", *_further_columns(study)):
        measured[name] = np.where(diverged, np.nan, measured[name])
    lost = diverged & (step < study.episode.selection_cut)
    lost |= ~(measured["validation_error"] <= scores.DIVERGED_ABOVE)
    measured["validation_error"] = np.where(lost, np.nan, measured["validation_error"])
    return measured


def _tabulated(study: Study, done: Mapping[int, Measures], horizons: Sequence[int]) -> Sweep:
    numbers = sorted(done)
    on_validation = {i: done[i]["validation_error"] for i in numbers}
    on_test = {i: done[i]["heldout_error"] for i in numbers}
    selected, selected_on_test = rates.best(on_validation), rates.best(on_test)
    frames = []
    for i in numbers:
        frame = _rows(study, rates.half_decade(i), done[i])
        frame["selected"] = i == selected
        frame["selected_on_test"] = i == selected_on_test
        frame["edge"] = rates.on_edge(on_validation)
        frames.append(frame)
    traces = np.concatenate([done[i]["window_errors"] for i in numbers])
    rate = rates.half_decade(selected)
    return Sweep(
        models=pd.concat(frames, ignore_index=True),
        traces={"error": traces, "frozen_error": study.baseline["frozen_trace"]},
        horizons=at_horizons.rows(study, rate, horizons, done[selected]),
    )


def _rows(study: Study, learning_rate: float, measured: Measures) -> pd.DataFrame:
    frozen = study.baseline
    seeds = np.arange(study.seeds)
    frame = pd.DataFrame({**study.keys, "seed": seeds, "learning_rate": learning_rate})
    frame["diverged"] = measured["diverged_step"] >= 0
    for name in ("diverged_step", "validation_error", "adapt_error", "heldout_error"):
        frame[name] = measured[name]
    for name in ("frozen_heldout_error", "frozen_adapt_error", "reference_error"):
        frame[name] = frozen[name]
    for part in ("heldout", "adapt", "validation"):
        frame[f"recovery_{part}_percent"] = scores.recovery_percent(
            frozen[f"frozen_{part}_error"], measured[f"{part}_error"], frozen["reference_error"]
        )
    for name in _further_columns(study):
        frame[name] = measured[name]
    frame["unreliable"] = scores.unreliable(
        frozen["frozen_heldout_error"], frozen["reference_error"]
    )
    frame["updates"] = measured["updates"]
    frame["loss"] = study.episode.loss
    return frame
