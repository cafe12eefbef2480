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
from orla.results.base import Settings
from orla.study.keys import KEYS, SETTING

MODEL_COLUMNS = [
    *KEYS,
    "seed",
    "learning_rate",
    "diverged",
    "selected",
    "selected_on_test",
    "edge",
    "unreliable",
    "recovery_heldout_percent",
    "recovery_adapt_percent",
]
"""Columns that every table of models has; those of losses and probes may be missing."""

COMPARED = {
    "comparison": "Name of the comparison in the config.",
    "learner_full": "Learner that is subtracted from.",
    "learner_immediate": "Learner that is subtracted.",
}

_PAIRED = [
    "recovery_heldout_percent",
    "recovery_adapt_percent",
    "r2_mean",
    "heldout_error",
    "update_ratio",
    "diverged",
    "unreliable",
]

Key = dict[str, Any]


def selected(models: pd.DataFrame) -> pd.DataFrame:
    """The models at their condition's selected rate."""
    demand(models)
    return models[models["selected"].astype(bool)]


def groups(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Each distinct value of the columns `by`, sorted, with its rows."""
    for values, group in frame.groupby(list(by), sort=True):
        yield dict(zip(by, values, strict=True)), group


def pairs(
    models: pd.DataFrame, settings: Settings, names: Sequence[str]
) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Each setting and comparison of `names` whose two learners ran, joined by seed.

    The rows hold the seeds that both ran: `seed`, `gap_pp` and both learners' measures with the
    endings ``_full`` and ``_immediate``.
    """
    wanted = [(name, settings.comparisons[name]) for name in names if name in settings.comparisons]
    # Groups of a frame of few columns are made several times faster.
    kept = [name for name in (*KEYS, "seed", *_PAIRED) if name in models]
    for setting, group in groups(models[kept], list(SETTING)):
        learners = dict(iter(group.groupby("learner")))
        indexed: dict[str, pd.DataFrame] = {}
        for name, compared in wanted:
            full, immediate = compared.minuend, compared.subtrahend
            if full not in learners or immediate not in learners:
                continue
            for learner in (full, immediate):
                if learner not in indexed:
                    indexed[learner] = by_seed(learners[learner], setting | {"learner": learner})
            joined = joined_by_seed(indexed[full], indexed[immediate], ("_full", "_immediate"))
            if joined.empty:
                continue
            joined["gap_pp"] = difference(joined, "recovery_heldout_percent")
            compared_as = dict(zip(COMPARED, (name, full, immediate), strict=True))
            yield setting | compared_as, joined


def joined_by_seed(
    first: pd.DataFrame, second: pd.DataFrame, endings: tuple[str, str]
) -> pd.DataFrame:
    """Two tables of `by_seed`: the seeds of both, and their columns with an ending each.

    By arrays, because a join of two frames takes ten times as long.
    """
    seeds, *places = np.intersect1d(first.index, second.index, return_indices=True)
    columns = {"seed": seeds}
    for rows, kept, ending in zip((first, second), places, endings, strict=True):
        columns |= {f"{name}{ending}": rows[name].to_numpy()[kept] for name in rows}
    return pd.DataFrame(columns)


def difference(joined: pd.DataFrame, measure: str) -> np.ndarray:
    """First learner's `measure` minus the second's, (seeds,); NaN where it is not measured."""
    if f"{measure}_full" not in joined:
        return np.full(len(joined), np.nan)
    return (joined[f"{measure}_full"] - joined[f"{measure}_immediate"]).to_numpy(float)


def either(joined: pd.DataFrame, mark: str) -> np.ndarray:
    """Whether the column `mark` is true for either learner, (seeds,)."""
    first, second = (joined[f"{mark}{of}"].to_numpy(bool) for of in ("_full", "_immediate"))
    return first | second


def ratio_and_gap(joined: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """First learner's update ratio and the gap, (seeds,) each, both NaN where either is."""
    ratio = measure(joined, "update_ratio_full")
    gap = joined["gap_pp"].to_numpy(float)
    finite = np.isfinite(ratio) & np.isfinite(gap)
    return np.where(finite, ratio, np.nan), np.where(finite, gap, np.nan)


def by_seed(rows: pd.DataFrame, key: Key) -> pd.DataFrame:
    """Measures of one condition, one row a seed.

    Raises:
        OrlaError: A seed occurs twice.
    """
    seed = rows["seed"].to_numpy()
    order = seed.argsort(kind="stable")
    repeated = seed[order][1:][np.diff(seed[order]) == 0]
    if len(repeated):
        raise OrlaError(
            f"{name_of(key)}: seed {repeated[0]} occurs twice at the selected rate; "
            "give one row a model"
        )
    measures = {name: rows[name].to_numpy()[order] for name in _PAIRED if name in rows}
    return pd.DataFrame(measures, index=pd.Index(seed[order], name="seed"))


def one_rate(rows: pd.DataFrame, key: Key, choice: str) -> float:
    """The one rate of a condition for which the column `choice` is true.

    Raises:
        OrlaError: It marks several, or a seed occurs twice.
    """
    rates = rows["learning_rate"].unique()
    if len(rates) != 1:
        raise OrlaError(
            f"{name_of(key)}: {choice} marks {len(rates)} learning rates; a condition has one"
        )
    by_seed(rows, key)
    return float(rates[0])


def measure(rows: pd.DataFrame, column: str) -> np.ndarray:
    """A column in the order of seeds, (seeds,); NaN where there is no such column."""
    if column not in rows:
        return np.full(len(rows), np.nan)
    return rows[column].to_numpy(float)[rows["seed"].to_numpy().argsort(kind="stable")]


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
