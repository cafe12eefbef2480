"""Recovery measured against full RTRL: the score of tasks that have no undrifted reference."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orla.results import shared
from orla.study.keys import SETTING

COLUMN = "recovery_vs_rtrl_percent"
BEST = {"adapt": "adapt_vs_best_rtrl_percent", "heldout": "heldout_vs_best_rtrl_percent"}


def recovery_vs_rtrl(models: pd.DataFrame, exact: Sequence[str]) -> np.ndarray:
    """Held-out recovery where full RTRL's is 100 %, for each row of a table of models.

    ``100 (frozen - adapted) / (frozen - rtrl)``, all held-out errors; `rtrl` is the error of full
    RTRL in the same setting and seed at its selected rate. Source: docs/protocol.md, Recovery.

    Args:
        models: One row a model, over all rates (`orla.results.shared.MODEL_COLUMNS`) with
            ``frozen_heldout_error`` and ``heldout_error``.
        exact: Names of learners that are full RTRL; in a setting the first that ran there counts.

    Returns:
        (rows,) percent; NaN where full RTRL was not run, diverged, or is no better than the
        frozen network.

    Raises:
        OrlaError: A column is missing, or RTRL has a seed twice at its selected rate.
    """
    shared.demand(models, [*shared.MODEL_COLUMNS, "frozen_heldout_error", "heldout_error"])
    at = [*SETTING, "seed"]
    reference = _of(models, exact, list(SETTING))
    for key, rows in shared.groups(reference, [*SETTING, "learner"]):
        shared.one_rate(rows, key, "selected")
    errors = reference.set_index(at)["heldout_error"]
    full = errors.reindex(pd.MultiIndex.from_frame(models[at])).to_numpy(float)
    frozen = models["frozen_heldout_error"].to_numpy(float)
    adapted = models["heldout_error"].to_numpy(float)
    return _recovered(frozen, adapted, full)


def recovery_vs_best_rtrl(models: pd.DataFrame, exact: Sequence[str], part: str) -> np.ndarray:
    """Recovery on a part where that of full RTRL with its best optimizer is 100 %.

    As `recovery_vs_rtrl`, but full RTRL has one optimizer for all others of a setting: that of the
    lowest mean validation error. So optimizers are compared on one scale.

    Args:
        models: As in `recovery_vs_rtrl`, with ``frozen_{part}_error`` and ``{part}_error``.
        exact: Names of learners that are full RTRL; in a setting the first that ran there counts.
        part: "adapt" (errors while learning) or "heldout".

    Returns:
        (rows,) percent; NaN as in `recovery_vs_rtrl`.

    Raises:
        OrlaError: A column is missing.
    """
    columns = [f"frozen_{part}_error", f"{part}_error", "validation_error"]
    shared.demand(models, [*shared.MODEL_COLUMNS, *columns])
    setting = [key for key in SETTING if key != "optimizer"]
    reference = _of(models, exact, setting)
    scores = reference.groupby([*setting, "optimizer"], as_index=False)["validation_error"].mean()
    best = scores.sort_values([*setting, "validation_error"]).drop_duplicates(setting)
    reference = reference.merge(best[[*setting, "optimizer"]], on=[*setting, "optimizer"])
    errors = reference.set_index([*setting, "seed"])[f"{part}_error"]
    full = errors.reindex(pd.MultiIndex.from_frame(models[[*setting, "seed"]])).to_numpy(float)
    frozen = models[f"frozen_{part}_error"].to_numpy(float)
    adapted = models[f"{part}_error"].to_numpy(float)
    return _recovered(frozen, adapted, full)


def _of(models: pd.DataFrame, exact: Sequence[str], setting: list[str]) -> pd.DataFrame:
    """Full RTRL's models at its selected rates: in each setting by the first learner of `exact`."""
    reference = shared.selected(models)
    reference = reference[reference["learner"].isin(exact)]
    place = reference["learner"].map(list(exact).index)
    first = place.groupby([reference[key] for key in setting]).transform("min")
    return reference[place == first]


def _recovered(frozen: np.ndarray, adapted: np.ndarray, full: np.ndarray) -> np.ndarray:
    better = np.where(frozen > full, frozen - full, np.nan)
    return 100.0 * (frozen - adapted) / better
