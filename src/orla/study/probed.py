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


class Probed(Measurement):
    """The `columns`, `observed` and `profiles` that the probes of a condition declare.

    Rows of observers also say whether the model diverged and its rate is selected. Profiles have
    rows at the selected rate alone. A model that diverged has no measure of a probe.
    """

    def of_batch(self, batch: Batch) -> Measures:
        measured: Measures = {}
        for probe, more in _declared(batch.run):
            series = batch.result.series
            summary, by_observer = probe.summary(series), probe.by_observer(series)
            profile = probe.profile(series)
            for name in more["columns"]:
                measured[name] = np.where(batch.measures["diverged"], np.nan, summary[name])
            for name in more["observed"]:
                for gradient in _watched(batch.run):
                    key = (Probed, probe.reference, gradient, name)
                    measured[key] = by_observer[gradient][name]
            for name in more["profiles"]:
                measured[Probed, name] = profile[name]
        return measured

    def rows(self, run: ConditionRun, done: Mapping[int, Measures]) -> Iterator[Rows]:
        seed, learner, optimizer = np.arange(run.seeds), run.keys["learner"], run.loop.optimizer
        carried = {n: carried_bytes(one, optimizer, run.dtype) for n, one in _watched(run).items()}
        if learner in run.loop.observers:
            del carried[_DRIVER]  # the driver watches itself
        name_of = {_DRIVER: learner}
        for i, (probe, more) in product(sorted(done), _declared(run)):
            measures, rate = done[i], rates.half_decade(i)
            for gradient, size in carried.items() if more["observed"] else ():
                values = {name: measures[name] for name in ("diverged", "selected")}
                values["carried_bytes"] = np.full(run.seeds, size)
                for name in more["observed"]:
                    value = measures[Probed, probe.reference, gradient, name]
                    values[name] = np.where(measures["diverged"], np.nan, value)
                pair = [name_of.get(one, one) for one in (gradient, probe.reference)]
                for name, value in values.items():
                    yield Rows(name, seed, rate, value, *pair)
        [best] = [i for i in done if done[i]["selected"].any()]
        for name in (name for _, more in _declared(run) for name in more["profiles"]):
            for one in np.flatnonzero(~done[best]["diverged"]):
                value = done[best][Probed, name][one]
                index = np.arange(len(value))
                yield Rows(name, one, rates.half_decade(best), value, index=index)


def _declared(run: ConditionRun) -> list[tuple[Probe, Mapping]]:
    """The probes that declare measures, each with its declarations."""
    return [(probe, probe.part.more) for probe in run.loop.probes if probe.part]


def _watched(run: ConditionRun) -> dict[str, Learner]:
    """Each gradient of an update: the driver's, then those of the observers."""
    return {_DRIVER: run.loop.learner, **run.loop.observers}
