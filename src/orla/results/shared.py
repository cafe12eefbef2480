"""Functions of all statistics: rows grouped by condition, and learners paired by seed.

A difference or mean is over the seeds in which all of its values are finite; `n_diverged` counts
the seeds in which a model diverged. Without a finite seed an estimate is null; with fewer than two
there is no interval (null) and no equivalence (p = 1). Intervals are 95 % percentile bootstraps
over seeds, but t intervals where a column's name has t90 or t95. Differences of recovery are in
percentage points (pp). A comparison whose learners were not both run is absent.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.study.keys import KEYS

MEASURES = (
    "diverged",
    "selected",
    "selected_on_test",
    "edge",
    "unreliable",
    "recovery_heldout_percent",
    "recovery_adapt_percent",
)
MODEL_COLUMNS = [*KEYS, "seed", "learning_rate", *MEASURES]
"""Columns that every table of models has; those of losses and probes may be missing."""

COMPARED = {
    "comparison": "Name of the comparison in the config.",
    "learner_full": "Learner that is subtracted from.",
    "learner_immediate": "Learner that is subtracted.",
}

Key = dict[str, Any]


def selected(models: pd.DataFrame) -> pd.DataFrame:
    """The models at their condition's selected rate."""
    demand(models)
    return models[models["selected"].astype(bool)]


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Each distinct value of the columns `by`, sorted, with its rows."""
    for values, group in frame.groupby(list(by), sort=True):
        yield dict(zip(by, values, strict=True)), group


def finite_mean(values: np.ndarray) -> float:
    """Mean of the finite values; NaN without any."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else np.nan


def demand(frame: pd.DataFrame, wanted: Sequence[str] = tuple(MODEL_COLUMNS)) -> None:
    """Refuse a table that lacks a column, or a row that does not say its condition.

    A table without rows may have no columns of measures.
    """
    for name in wanted if len(frame) else ():
        if name not in frame:
            raise OrlaError(
                f"the table of models lacks the column {name}; rebuild it with the sweeps rule"
            )
        if (name in KEYS or name == "seed") and frame[name].isna().any():
            raise OrlaError(
                f"the table of models has a row without {name}; rebuild it with the sweeps rule"
            )


def name_of(key: Key) -> str:
    """A condition for a message: its values, joined by slashes."""
    return "/".join(str(value) for value in key.values() if value != "")
