"""Measures of the probes: of each model, of each observer, and profiles such as spectra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from orla.engine.memory import learner_bytes
from orla.learners.base import Learner
from orla.probes.base import Probe
from orla.study import rates
from orla.study.rolling import Batch, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows

# What a probe calls the gradient of the learner that drives.
_DRIVER = "own"
_PROFILE = "profile"


def measure_probes(batch: Batch) -> Measures:
    """The `columns`, `observed` and `profiles` that the probes of a condition declare."""
    by_key: Measures = {}
    for probe, more in _probes_with_columns(batch.run):
        series = batch.result.series
        summary, by_observer = probe.summary(series), probe.by_observer(series)
        profile = probe.profile(series)
        for name in more["columns"]:
            by_key[name] = np.where(batch.measures["diverged"], np.nan, summary[name])
        for name, gradient in product(more["observed"], _learners_by_gradient(batch.run)):
            key = probe.reference, gradient, name
            by_key[key] = by_observer[gradient][name]
        for name in more["profiles"]:
            by_key[_PROFILE, name] = profile[name]
    return by_key


def probe_rows(run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
    """Rows of observers; of profiles at the selected rate. Null of a model that diverged."""
    seed, learner, optimizer = np.arange(run.seeds), run.keys["learner"], run.loop.optimizer
    sizes = {
        n: learner_bytes(x, optimizer, run.dtype) for n, x in _learners_by_gradient(run).items()
    }
    if learner in run.loop.observers:
        del sizes[_DRIVER]  # the driver watches itself
    name_of = {_DRIVER: learner}
    for i, (probe, more) in product(sorted(results), _probes_with_columns(run)):
        of_rate, rate = results[i], rates.half_decade(i)
        for gradient, size in sizes.items() if more["observed"] else ():
            values = {name: of_rate[name] for name in ("diverged", "selected")}
            values["carried_bytes"] = np.full(run.seeds, size)
            for name in more["observed"]:
                value = of_rate[probe.reference, gradient, name]
                values[name] = np.where(of_rate["diverged"], np.nan, value)
            pair = [name_of.get(name, name) for name in (gradient, probe.reference)]
            for name, value in values.items():
                yield Rows(name, seed, rate, value, *pair)
    [best] = [i for i in results if results[i]["selected"].any()]
    for name in (name for _, more in _probes_with_columns(run) for name in more["profiles"]):
        for model in np.flatnonzero(~results[best]["diverged"]):
            value = results[best][_PROFILE, name][model]
            yield Rows(name, model, rates.half_decade(best), value, index=np.arange(len(value)))


def _probes_with_columns(run: ConditionRun) -> list[tuple[Probe, Mapping]]:
    """The probes that declare measures, each with its declarations."""
    return [(probe, probe.part.more) for probe in run.loop.probes if probe.part]


def _learners_by_gradient(run: ConditionRun) -> dict[str, Learner]:
    """The learner of each gradient of an update, by its name: the driver, then the observers."""
    return {_DRIVER: run.loop.learner, **run.loop.observers}
