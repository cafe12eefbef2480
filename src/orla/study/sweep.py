"""One condition: all its seeds at all its learning rates, adapted, selected and scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla import progress
from orla.errors import OrlaError
from orla.study import horizon_scores, probe_measures, rates, rolling, scores, stable, tidy
from orla.study.batches import measure_in_batches
from orla.study.rolling import Batch, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows

_TRACE = ("trace",)


@dataclass(frozen=True)
class Sweep:
    """What was measured of a condition's models.

    table: the long table: the condition's keys, its loss, and the columns `tidy.LONG`.
    traces: {"error": (models, windows), "frozen_error": (seeds, windows), "step": (windows,)}, mean
        errors by window and the windows' last steps; models by rate, then seed.
    """

    table: pd.DataFrame
    traces: dict[str, np.ndarray]

    @cached_property
    def wide_tables(self) -> dict[str, pd.DataFrame]:
        """The wide tables, by name: see `tidy.wide_tables`."""
        return tidy.wide_tables([self.table])


def sweep(
    run: ConditionRun,
    learning_rates: Sequence[float],
    growth: int,
    horizons: Sequence[int] = (),
    stable_windows: int = 10,
    for_resamples: bool = False,
) -> Sweep:
    """Adapt every seed at every rate, growing the grid until the chosen rate is interior.

    The chosen rate has the lowest mean of `rolling.ERROR`, which uses no held-out step; a table
    about the adapt part chooses by the mean error while adapting. The grid of neighbouring
    half-decade rates may grow by `growth` of them on each side. `for_resamples` says at which rates
    the means over `stable_windows` freezings are scored: see `stable.add_stable_means`.
    """
    first = rates.grid_indices(learning_rates)
    ends = stable.last_window_ends(run.adapt_steps, run.episode.window, stable_windows)
    points = sorted({*rolling.snapshot_steps(run, horizons), *ends})
    results: dict[int, Measures] = {}
    todo: list[int] = list(first)
    names = (run.keys[key] for key in ("architecture", "learner", "optimizer", "split"))
    about = ", ".join(filter(None, names))
    with progress.bar(run.adapt_steps * run.seeds * len(todo), about, "step") as bar:
        while todo:
            if results:
                bar.total += run.adapt_steps * run.seeds
                further = f"{about}, a further rate {rates.half_decade(todo[0]):g}"
                bar.set_description_str(further, refresh=False)
            results |= _adapt_and_measure(run, todo, points, ends, horizons, bar)
            # One at a time: the next may change which rate is the best.
            next_rate = rates.next_rate_index(
                _measure_by_rate(results, rolling.ERROR), first, growth
            )
            todo = [] if next_rate is None else [next_rate]
    stable.add_stable_means(run, results, ends, for_resamples)
    _mark_choices(results)
    rows = [*_measure_rows(run, results), *horizon_scores.recovery_rows(run, results, horizons)]
    rows += probe_measures.probe_rows(run, results)
    windows = np.concatenate([results[i][_TRACE] for i in sorted(results)])
    keys = {**run.keys, "loss": run.episode.loss}
    traces = {
        "error": windows,
        "frozen_error": run.baseline["frozen_trace"],
        "step": run.episode.window * np.arange(1, windows.shape[1] + 1),
    }
    return Sweep(tidy.long_table(keys, rows), traces)


def _measure_by_rate(results: Mapping[int, Measures], name: str) -> dict[int, np.ndarray]:
    """One measure of the models at each rate."""
    return {index: measures[name] for index, measures in results.items()}


def _adapt_and_measure(
    run: ConditionRun,
    indices: Sequence[int],
    points: Sequence[int],
    ends: Sequence[int],
    horizons: Sequence[int],
    bar: Any,
) -> dict[int, Measures]:
    """Measures of all seeds at the rates numbered `indices`."""
    # Models are ordered by rate, then seed; `by_rate` below relies on it.
    rate = run.tensor(np.repeat([rates.half_decade(i) for i in indices], run.seeds))
    seed = np.tile(np.arange(run.seeds), len(indices))

    def measure(index: np.ndarray) -> Measures:
        seeds, count = seed[index], len(np.unique(index))
        adapt = run.stream_tensors(run.episode.adapt, seeds)
        result = run.loop.run(
            run.loop.start(run.starting_parameters(seeds), seeds=seeds.tolist()),
            rate[index],
            adapt,
            snapshots=points,
            on_segment=lambda steps: progress.advance(bar, steps * count),
        )
        mask = scores.entry_models_first(adapt, "scored")
        trace = scores.window_means(result.errors, mask, run.episode.window)
        batch = Batch(run, seeds, adapt, run.whole_tensors(seeds), result, {_TRACE: trace})
        # In the order of their columns; a later one may read what an earlier one measured.
        batch.measures.update(rolling.error_measures(batch))
        batch.measures.update(stable.network_snapshots(batch, sorted({*ends, *horizons})))
        batch.measures.update(horizon_scores.validation_errors(batch, horizons))
        of_probes = probe_measures.measure_probes(batch)
        for name in batch.measures.keys() & of_probes.keys():
            raise OrlaError(f'a probe has the column "{name}", which every model has; rename it')
        batch.measures.update(of_probes)
        batch.measures["last_adapt_error"] = rolling.mean_error_of_last_tenth(batch)
        return batch.measures

    values = measure_in_batches(len(seed), run.batch_models, measure)
    by_rate = {k: v.reshape(len(indices), run.seeds, *v.shape[1:]) for k, v in values.items()}
    return {i: {k: v[j] for k, v in by_rate.items()} for j, i in enumerate(indices)}


def _mark_choices(results: dict[int, Measures]) -> None:
    """Add to each rate's measures whether each of `CHOICES` takes it, and at the edge."""
    for by, (mark, edge) in rolling.CHOICES.items():
        errors = _measure_by_rate(results, by)
        best, on_edge = rates.lowest_error_index(errors), rates.best_on_edge(errors)
        for index, measures in results.items():
            measures[mark] = np.full(measures[by].shape, index == best)
            if edge:
                measures[edge] = np.full(measures[by].shape, on_edge)


def _measure_rows(run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
    """A row a model for every measure of models, rate after rate."""
    numbers = sorted(results)
    rate = np.array([rates.half_decade(i) for i in numbers])[:, None]
    for name in (key for key in results[numbers[0]] if isinstance(key, str)):
        value = np.stack([results[i][name] for i in numbers])
        yield Rows(name, np.arange(run.seeds), rate, value)
