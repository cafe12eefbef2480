"""What probes measure of each observer: a table with a row a model and gradient."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd

from orla.engine.loop import Adaptation
from orla.engine.memory import carried_bytes
from orla.learners.base import Learner
from orla.probes.base import Probe
from orla.study import rates
from orla.study.study import Study

# What a probe calls the gradient of the learner that drives.
_OWN = "own"
_NAMED = ("observer", "against", "carried_bytes")


def probes(study: Study) -> list[Probe]:
    """The probes of a condition that measure something of each observer."""
    return [probe for probe in study.loop.probes if probe.part and probe.part.more["observed"]]


def measures(study: Study, result: Adaptation) -> dict[str, np.ndarray]:
    """What a sweep keeps of a batch: (models, gradients, columns), one entry a probe.

    Gradients are in the order of `_watched`, columns in that of the probe's declaration.
    """
    found = {}
    for i, probe in enumerate(probes(study)):
        measured = probe.by_observer(result.series)
        columns = list(probe.part.more["observed"])
        found[_name(i)] = np.stack(
            [np.stack([measured[name][c] for c in columns], -1) for name in _watched(study)], 1
        )
    return found


def rows(study: Study, done: Mapping[int, Mapping[str, np.ndarray]], selected: int) -> pd.DataFrame:
    """One row a model and gradient; see `sweep.Sweep.alignment`.

    Args:
        study: The condition.
        done: {number of a rate: measures}, those of `measures` and "diverged_step" (models,).
        selected: Number of the rate that is best on validation.
    """
    if not probes(study):
        head = ("seed", "learning_rate", "diverged", "selected", *_NAMED)
        return pd.DataFrame(columns=[*study.keys, *head])
    of = study.loop.optimizer, study.dtype
    carried = {n: carried_bytes(one, *of) for n, one in _watched(study).items()}
    frames = []
    for number, (i, probe) in product(sorted(done), enumerate(probes(study))):
        diverged = done[number]["diverged_step"] >= 0
        for at, name in enumerate(_watched(study)):
            if name == _OWN and study.keys["learner"] in study.loop.observers:
                continue  # the driver watches itself
            frame = pd.DataFrame({**study.keys, "seed": np.arange(study.seeds)})
            frame["learning_rate"] = rates.half_decade(number)
            frame["diverged"] = diverged
            frame["selected"] = number == selected
            frame["observer"] = _called(name, study)
            frame["against"] = _called(probe.reference, study)
            frame["carried_bytes"] = carried[name]
            measured = np.where(diverged[:, None], np.nan, done[number][_name(i)][:, at])
            frame[list(probe.part.more["observed"])] = measured
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _name(probe: int) -> str:
    return f"alignment {probe}"


def _called(gradient: str, study: Study) -> str:
    return study.keys["learner"] if gradient == _OWN else gradient


def _watched(study: Study) -> dict[str, Learner]:
    """Each gradient of an update: the driver's, then those of the observers."""
    return {_OWN: study.loop.learner, **study.loop.observers}
