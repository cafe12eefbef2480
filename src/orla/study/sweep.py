"""One condition: all its seeds at all its learning rates, adapted, selected and scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orla import progress
from orla.study import alignment, profiles, rates, scores, stable
from orla.study import horizons as at_horizons
from orla.study.batches import in_batches, moments
from orla.study.study import Study

Measures = dict[str, np.ndarray]
_MEASURED = (
    "diverged_step",
    "validation_error",
    "validation_stable_error",
    "adapt_error",
    "heldout_error",
    "heldout_stable_error",
)


@dataclass(frozen=True)
class Sweep:
    """A condition's models, one row each (columns: docs/reference.md), their traces and horizons.

    traces: {"error": (models, windows), "frozen_error": (seeds, windows)}, mean errors by window.
    horizons: one row a seed and horizon, at the rate chosen within it: the condition's keys, seed,
        horizon_steps, recovery_heldout_percent (missing for a model that diverged before the
        horizon), learning_rate, validation_error and edge.
    alignment: one row a model and gradient, where a probe measures something of each observer: the
        condition's keys, seed, learning_rate, diverged, selected, observer (whose gradient it is),
        against (whose it is compared with), carried_bytes and the probe's `observed` columns,
        missing for a model that diverged.
    profiles: one row a model at the selected rate that did not diverge, and number of a profile:
        the condition's keys, seed, learning_rate, quantity (the profile), index and value.
    """

    models: pd.DataFrame
    traces: dict[str, np.ndarray]
    horizons: pd.DataFrame
    alignment: pd.DataFrame
    profiles: pd.DataFrame


def sweep(
    study: Study,
    learning_rates: Sequence[float],
    growth: int,
    horizons: Sequence[int] = (),
    stable_windows: int = 10,
) -> Sweep:
    """Adapt every seed at every rate, growing the grid until both choices of a rate are interior.

    The best rate has the lowest mean error on the selection part, the last share of the adapt part:
    one choice is by weights frozen where it begins, the other by the mean over weights frozen after
    each of the last windows before it. No choice uses held-out errors.

    Args:
        study: Networks, data and condition.
        learning_rates: Neighbouring half-decade rates to begin with.
        growth: Half decades that the grid may grow by on each side.
        horizons: Steps after which the models are also scored on the held-out part, weights frozen
            there: the state runs on through the rest of the adapt part. The rate of each is chosen
            on its own last share, as that of the adapt part is.
        stable_windows: Windows before a scored part; stable errors are means over weights frozen
            after each of them.

    Raises:
        OrlaError: The grid is no half-decade grid, or a horizon does not fit.
    """
    first = rates.grid(learning_rates)
    at_horizons.check(study, horizons)
    done: dict[int, Measures] = {}
    todo: list[int] = list(first)
    name = f"{study.keys['learner']} + {study.keys['optimizer']}, {study.keys['split']}"
    with progress.bar(study.steps * study.seeds * len(todo), name, "step") as bar:
        while todo:
            if done:
                bar.total += study.steps * study.seeds
            done |= _measure(study, todo, horizons, stable_windows, bar)
            wanted = [
                rates.missing_neighbour(_by_rate(done, choice), first, growth)
                for choice in ("validation_error", "validation_stable_error")
            ]
            # One at a time: the next may change which rate is the best for the other choice.
            todo = [index for index in wanted if index is not None][:1]
    return _tabulated(study, done, horizons)


def _by_rate(done: Mapping[int, Measures], measure: str) -> dict[int, np.ndarray]:
    return {index: measured[measure] for index, measured in done.items()}


def _measure(
    study: Study, indices: Sequence[int], horizons: Sequence[int], stable_windows: int, bar: Any
) -> dict[int, Measures]:
    """Measures of all seeds at the rates numbered `indices`: {number: {measure: (seeds, ...)}}."""
    # Models are ordered by rate, then seed; `by_rate` below relies on it.
    rate = np.repeat([rates.half_decade(i) for i in indices], study.seeds)
    seed = np.tile(np.arange(study.seeds), len(indices))

    def measure(index: np.ndarray) -> Measures:
        count = len(np.unique(index))

        def on_segment(steps: int) -> None:
            progress.advance(bar, steps * count)

        return _adapt_batch(study, seed[index], rate[index], horizons, stable_windows, on_segment)

    joined = in_batches(len(rate), study.batch_models, measure)
    by_rate = {k: v.reshape(len(indices), study.seeds, *v.shape[1:]) for k, v in joined.items()}
    return {i: {k: v[j] for k, v in by_rate.items()} for j, i in enumerate(indices)}


def _adapt_batch(
    study: Study,
    seed: np.ndarray,
    rate: np.ndarray,
    horizons: Sequence[int],
    stable_windows: int,
    on_segment: Callable[[int], None],
) -> Measures:
    episode, whole = study.episode, study.whole(seed)
    cut, steps = episode.selection_cut, study.steps
    frozen_at = [*stable.points(study, stable_windows), *at_horizons.points(episode, horizons)]
    adapt = moments(episode.adapt, seed, study.dtype, study.device)
    state = study.loop.start(study.batch(seed), seeds=seed.tolist())
    result = study.loop.run(
        state,
        study.tensor(rate),
        adapt,
        snapshots=frozen_at,
        on_segment=on_segment,
    )
    selecting, after = slice(cut, steps), study.heldout
    selection = study.frozen_scores(*result.snapshots[cut], whole, selecting, since=cut)
    at_end = study.frozen_scores(state.params, state.network, whole, after, since=steps)
    (validation, _), (heldout, further) = selection, at_end
    validation_stable, _ = stable.means(
        study, result, whole, selecting, stable_windows, {cut: selection}
    )
    heldout_stable, further_stable = stable.means(
        study, result, whole, after, stable_windows, {steps: at_end}
    )
    scored = scores.by_models(adapt, "scored")
    updates = result.errors.shape[1] // study.loop.learner.stride
    measured = {
        "diverged_step": scores.diverged_steps(result.errors, heldout),
        "validation_error": validation,
        "validation_stable_error": validation_stable,
        "adapt_error": scores.adapted_mean(result.errors, scored),
        "heldout_error": heldout,
        "heldout_stable_error": heldout_stable,
        **further,
        **{stable.PREFIX + name: values for name, values in further_stable.items()},
        **{n: v for p in study.loop.probes for n, v in p.summary(result.series).items()},
        "updates": np.full(len(rate), updates),
        "window_errors": scores.window_means(result.errors, scored, episode.window),
        **at_horizons.measures(study, result, whole, horizons),
        **alignment.measures(study, result),
        **profiles.measures(study, result),
    }
    return _without_diverged(study, measured)


def _further_columns(study: Study) -> list[str]:
    """Columns of the loss and of the probes."""
    probed = (name for probe in study.loop.probes for name in probe.part.more["columns"])
    return [*study.loss.columns(), *stable.columns(study), *probed]


def _without_diverged(study: Study, measured: Measures) -> Measures:
    """Set the measures of diverged models to NaN.

    Selection scores are NaN only where a model diverged before the selection part or on it.
    """
    step = measured["diverged_step"]
    diverged = step >= 0
    gone = ("adapt_error", "heldout_error", "heldout_stable_error", *_further_columns(study))
    for name in gone:
        measured[name] = np.where(diverged, np.nan, measured[name])
    lost = diverged & (step < study.episode.selection_cut)
    lost |= ~(measured["validation_error"] <= scores.DIVERGED_ABOVE)
    for name in ("validation_error", "validation_stable_error"):
        measured[name] = np.where(lost, np.nan, measured[name])
    return measured


def _tabulated(study: Study, done: Mapping[int, Measures], horizons: Sequence[int]) -> Sweep:
    numbers = sorted(done)
    on_validation = _by_rate(done, "validation_error")
    on_stable = _by_rate(done, "validation_stable_error")
    selected, selected_stable = rates.best(on_validation), rates.best(on_stable)
    edge, edge_stable = rates.on_edge(on_validation), rates.on_edge(on_stable)
    selected_on_test = rates.best(_by_rate(done, "heldout_error"))
    frames = []
    for i in numbers:
        frame = _rows(study, rates.half_decade(i), done[i])
        frame["selected"] = i == selected
        frame["selected_on_test"] = i == selected_on_test
        frame["selected_stable"] = i == selected_stable
        frame["edge"] = edge
        frame["edge_stable"] = edge_stable
        frames.append(frame)
    traces = np.concatenate([done[i]["window_errors"] for i in numbers])
    return Sweep(
        models=pd.concat(frames, ignore_index=True),
        traces={"error": traces, "frozen_error": study.baseline["frozen_trace"]},
        horizons=at_horizons.rows(study, done, horizons),
        alignment=alignment.rows(study, done, selected),
        profiles=profiles.rows(study, done, selected),
    )


def _rows(study: Study, learning_rate: float, measured: Measures) -> pd.DataFrame:
    frozen = study.baseline
    seeds = np.arange(study.seeds)
    frame = pd.DataFrame({**study.keys, "seed": seeds, "learning_rate": learning_rate})
    frame["diverged"] = measured["diverged_step"] >= 0
    for name in _MEASURED:
        frame[name] = measured[name]
    for name in ("frozen_heldout_error", "frozen_adapt_error", "reference_error", "constant_error"):
        frame[name] = frozen[name]
    for part in ("heldout", "adapt", "validation"):
        frame[f"recovery_{part}_percent"] = scores.recovery_percent(
            frozen[f"frozen_{part}_error"], measured[f"{part}_error"], frozen["reference_error"]
        )
    frame["recovery_stable_percent"] = scores.recovery_percent(
        frozen["frozen_heldout_error"], measured["heldout_stable_error"], frozen["reference_error"]
    )
    for name in _further_columns(study):
        frame[name] = measured[name]
    frame["unreliable"] = scores.unreliable(
        frozen["frozen_heldout_error"], frozen["reference_error"]
    )
    frame["updates"] = measured["updates"]
    frame["loss"] = study.episode.loss
    return frame
