"""What probes number along a run, such as a spectrum: a table with a row a model and number."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd

from orla.engine.loop import Adaptation
from orla.study import rates
from orla.study.study import Study

_HEAD = ("seed", "learning_rate", "quantity", "index", "value")


def names(study: Study) -> list[str]:
    """The profiles of a condition's probes."""
    probes = (probe for probe in study.loop.probes if probe.part)
    return [name for probe in probes for name in probe.part.more["profiles"]]


def measures(study: Study, result: Adaptation) -> dict[str, np.ndarray]:
    """What a sweep keeps of a batch: (models, numbers), one entry a profile."""
    found: dict[str, np.ndarray] = {}
    for probe in study.loop.probes:
        found |= probe.profile(result.series)
    return {_name(name): found[name] for name in names(study)}


def rows(study: Study, done: Mapping[int, Mapping[str, np.ndarray]], selected: int) -> pd.DataFrame:
    """One row a model at the selected rate, profile and number; see `sweep.Sweep.profiles`.

    Args:
        study: The condition.
        done: {number of a rate: measures}, those of `measures` and "diverged_step" (models,).
        selected: Number of the rate that is best on validation.
    """
    frames = [pd.DataFrame(columns=[*study.keys, *_HEAD]).astype({"index": int, "value": float})]
    kept = done[selected]
    sound = np.flatnonzero(kept["diverged_step"] < 0)
    for name, seed in product(names(study), sound):
        values = kept[_name(name)][seed]
        frame = pd.DataFrame({"index": np.arange(len(values)), "value": values})
        frame = frame.assign(**study.keys, seed=seed, quantity=name)
        frame["learning_rate"] = rates.half_decade(selected)
        frames.append(frame[[*study.keys, *_HEAD]])
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _name(profile: str) -> str:
    return f"profile {profile}"
