"""Measures of the probes: of each model, of each observer, and profiles such as spectra."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from orla.engine.memory import carried_bytes
from orla.learners.base import Learner
from orla.probes.base import Probe
from orla.study import rates
from orla.study.measurement import Batch, Measurement, Measures
from orla.study.run import ConditionRun
from orla.study.tidy import Rows

# What a probe calls the gradient of the learner that drives.
_DRIVER = "own"


class ProbeMeasures(Measurement):
    """The `columns`, `observed` and `profiles` that the probes of a condition declare.

    Rows of observers also say whether the model diverged and its rate is selected. Profiles have
    rows at the selected rate alone. A model that diverged has no measure of a probe.
    """

    def measure(self, batch: Batch) -> Measures:
        measures: Measures = {}
        for probe, more in _probes_with_columns(batch.run):
            series = batch.result.series
            summary, by_observer = probe.summary(series), probe.by_observer(series)
            profile = probe.profile(series)
            for name in more["columns"]:
                measures[name] = np.where(batch.measures["diverged"], np.nan, summary[name])
            for name in more["observed"]:
                for gradient in _gradients(batch.run):
                    key = (ProbeMeasures, probe.reference, gradient, name)
                    measures[key] = by_observer[gradient][name]
            for name in more["profiles"]:
                measures[ProbeMeasures, name] = profile[name]
        return measures

    def rows(self, run: ConditionRun, results: Mapping[int, Measures]) -> Iterator[Rows]:
        seed, learner, optimizer = np.arange(run.seeds), run.keys["learner"], run.loop.optimizer
        sizes = {n: carried_bytes(x, optimizer, run.dtype) for n, x in _gradients(run).items()}
        if learner in run.loop.observers:
            del sizes[_DRIVER]  # the driver watches itself
        name_of = {_DRIVER: learner}
        for i, (probe, more) in product(sorted(results), _probes_with_columns(run)):
            measures, rate = results[i], rates.half_decade(i)
            for gradient, size in sizes.items() if more["observed"] else ():
                values = {name: measures[name] for name in ("diverged", "selected")}
                values["carried_bytes"] = np.full(run.seeds, size)
                for name in more["observed"]:
                    value = measures[ProbeMeasures, probe.reference, gradient, name]
                    values[name] = np.where(measures["diverged"], np.nan, value)
                pair = [name_of.get(name, name) for name in (gradient, probe.reference)]
                for name, value in values.items():
                    yield Rows(name, seed, rate, value, *pair)
        [best] = [i for i in results if results[i]["selected"].any()]
        for name in (name for _, more in _probes_with_columns(run) for name in more["profiles"]):
            for model in np.flatnonzero(~results[best]["diverged"]):
                value = results[best][ProbeMeasures, name][model]
                index = np.arange(len(value))
                yield Rows(name, model, rates.half_decade(best), value, index=index)


def _probes_with_columns(run: ConditionRun) -> list[tuple[Probe, Mapping]]:
    """The probes that declare measures, each with its declarations."""
    return [(probe, probe.part.more) for probe in run.loop.probes if probe.part]


def _gradients(run: ConditionRun) -> dict[str, Learner]:
    """Each gradient of an update: the driver's, then those of the observers."""
    return {_DRIVER: run.loop.learner, **run.loop.observers}
