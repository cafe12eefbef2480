"""Recovery measured against full RTRL: the score of tasks that have no undrifted reference."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from orla.errors import OrlaError
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
    return _recovered(models, "heldout", _of(models, exact, list(SETTING)), list(SETTING))


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
    return _recovered(models, part, reference, setting)


def _of(models: pd.DataFrame, exact: Sequence[str], setting: list[str]) -> pd.DataFrame:
    """Full RTRL's models at its selected rates: in each setting by the first learner of `exact`."""
    reference = shared.selected(models)
    reference = reference[reference["learner"].isin(exact)]
    place = reference["learner"].map(list(exact).index)
    first = place.groupby([reference[key] for key in setting]).transform("min")
    return reference[place == first]


def _recovered(
    models: pd.DataFrame, part: str, reference: pd.DataFrame, setting: list[str]
) -> np.ndarray:
    """Recovery of each model (rows,), with the reference of its setting and seed at 100 %."""
    at, of = [*setting, "seed"], [*setting, "optimizer", "learner"]
    for key, rates in reference.groupby(list(dict.fromkeys(of)))["learning_rate"]:
        if rates.nunique() > 1:
            raise OrlaError(
                f"{'/'.join(filter(None, key))}: selected marks {rates.nunique()} learning rates;"
                " a condition has one"
            )
    if (twice := reference[reference.duplicated(at)]).size:
        raise OrlaError(
            f"{'/'.join(filter(None, twice.iloc[0][setting]))}: seed {twice['seed'].iloc[0]} occurs"
            " twice at the selected rate; give one row a model"
        )
    errors = reference.set_index(at)[f"{part}_error"]
    full = errors.reindex(pd.MultiIndex.from_frame(models[at])).to_numpy(float)
    frozen, adapted = (models[f"{of}{part}_error"].to_numpy(float) for of in ("frozen_", ""))
    return 100.0 * (frozen - adapted) / np.where(frozen > full, frozen - full, np.nan)
