"""One condition: all its seeds at all its learning rates, adapted, selected and scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from orla import progress
from orla.study import rates, scores, tidy
from orla.study.batches import in_batches
from orla.study.horizons import Horizons
from orla.study.last_stretch import LastStretch
from orla.study.measurement import Batch, Choice, Errors, Measurement, Measures
from orla.study.probe_measures import ProbeMeasures
from orla.study.rolling import RollingValidation
from orla.study.run import ConditionRun
from orla.study.stable import Stable
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
    def frames(self) -> dict[str, pd.DataFrame]:
        """The wide tables, by name: see `tidy.wide`."""
        return tidy.wide([self.table])


def sweep(
    run: ConditionRun,
    learning_rates: Sequence[float],
    growth: int,
    horizons: Sequence[int] = (),
    stable_windows: int = 10,
) -> Sweep:
    """Adapt every seed at every rate, growing the grid until the chosen rate is interior.

    The chosen rate has the lowest mean error of `rolling.RollingValidation`, which uses no held-out
    step; a table about the adapt part chooses by the mean error while adapting.

    Args:
        run: Networks, data and condition.
        learning_rates: Neighbouring half-decade rates to begin with.
        growth: Half decades that the grid may grow by on each side.
        horizons, stable_windows: Options of `Horizons` and `Stable`.

    Raises:
        OrlaError: The grid is no half-decade grid, or a horizon does not fit.
    """
    first = rates.grid(learning_rates)
    # In the order of their columns; a later one may read what an earlier one measured.
    measurements = [
        Errors(),
        RollingValidation(),
        Stable(stable_windows),
        Horizons(horizons),
        ProbeMeasures(),
    ]
    measurements.append(LastStretch())
    points = sorted({step for measurement in measurements for step in measurement.points(run)})
    choices = [choice for measurement in measurements for choice in measurement.choices]
    results: dict[int, Measures] = {}
    todo: list[int] = list(first)
    about = (run.keys[key] for key in ("architecture", "learner", "optimizer", "split"))
    with progress.bar(run.steps * run.seeds * len(todo), ", ".join(about), "step") as bar:
        while todo:
            if results:
                bar.total += run.steps * run.seeds
            results |= _measure(run, todo, measurements, points, bar)
            candidates = (
                rates.missing_neighbour(_by_rate(results, choice), first, growth)
                for choice in choices
                if choice.grows
            )
            # One at a time: the next may change which rate is the best.
            todo = [index for index in candidates if index is not None][:1]
    for measurement in measurements:
        measurement.finish(run, results)
    _mark(results, choices)
    further = (rows for measurement in measurements for rows in measurement.rows(run, results))
    windows = np.concatenate([results[i][_TRACE] for i in sorted(results)])
    return Sweep(
        table=tidy.long_table(
            {**run.keys, "loss": run.episode.loss}, (*_rows(run, results), *further)
        ),
        traces={
            "error": windows,
            "frozen_error": run.baseline["frozen_trace"],
            "step": run.episode.window * np.arange(1, windows.shape[1] + 1),
        },
    )


def _by_rate(results: Mapping[int, Measures], choice: Choice) -> dict[int, np.ndarray]:
    return {index: measures[choice.by] for index, measures in results.items()}


def _measure(
    run: ConditionRun,
    indices: Sequence[int],
    measurements: list[Measurement],
    points: list[int],
    bar: Any,
) -> dict[int, Measures]:
    """Measures of all seeds at the rates numbered `indices`."""
    # Models are ordered by rate, then seed; `by_rate` below relies on it.
    rate = run.tensor(np.repeat([rates.half_decade(i) for i in indices], run.seeds))
    seed = np.tile(np.arange(run.seeds), len(indices))

    def measure(index: np.ndarray) -> Measures:
        seeds, count = seed[index], len(np.unique(index))
        adapt = run.moments(run.episode.adapt, seeds)
        result = run.loop.run(
            run.loop.start(run.batch(seeds), seeds=seeds.tolist()),
            rate[index],
            adapt,
            snapshots=points,
            on_segment=lambda steps: progress.advance(bar, steps * count),
        )
        mask = scores.by_models(adapt, "scored")
        trace = scores.window_means(result.errors, mask, run.episode.window)
        batch = Batch(run, seeds, adapt, run.whole(seeds), result, {_TRACE: trace})
        for measurement in measurements:
            batch.measures.update(measurement.measure(batch))
        return batch.measures

    values = in_batches(len(seed), run.batch_models, measure)
    by_rate = {k: v.reshape(len(indices), run.seeds, *v.shape[1:]) for k, v in values.items()}
    return {i: {k: v[j] for k, v in by_rate.items()} for j, i in enumerate(indices)}


def _mark(results: dict[int, Measures], choices: Sequence[Choice]) -> None:
    """Add the choices of a rate to the measures: whether it is this one, and on the grid's edge."""
    for choice in choices:
        errors = _by_rate(results, choice)
        best, edge = rates.best(errors), rates.on_edge(errors)
        for index, measures in results.items():
            shape = measures[choice.by].shape
            measures[choice.mark] = np.full(shape, index == best)
            if choice.edge:
                measures[choice.edge] = np.full(shape, edge)


def _rows(run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
    """A row a model for every measure of models, rate after rate."""
    numbers = sorted(results)
    rate = np.array([rates.half_decade(i) for i in numbers])[:, None]
    for name in (key for key in results[numbers[0]] if isinstance(key, str)):
        value = np.stack([results[i][name] for i in numbers])
        yield Rows(name, np.arange(run.seeds), rate, value)
