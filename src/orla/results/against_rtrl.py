"""Recovery measured against full RTRL: the score of tasks that have no undrifted reference."""

import numpy as np
import pandas as pd

from orla.results import shared
from orla.study.keys import SETTING

COLUMN = "recovery_vs_rtrl_percent"


def recovery_vs_rtrl(models: pd.DataFrame, rtrl: str) -> np.ndarray:
    """Held-out recovery where full RTRL's is 100 %, for each row of a table of models.

    ``100 (frozen - adapted) / (frozen - rtrl)``, all held-out errors; `rtrl` is the error of full
    RTRL in the same setting and seed at its selected rate. Source: docs/protocol.md, Recovery.

    Args:
        models: One row a model, over all rates (`orla.results.shared.MODEL_COLUMNS`) with
            ``frozen_heldout_error`` and ``heldout_error``.
        rtrl: Name of the learner that is full RTRL.

    Returns:
        (rows,) percent; NaN where full RTRL was not run, diverged, or is no better than the
        frozen network.

    Raises:
        OrlaError: A column is missing, or RTRL has a seed twice at its selected rate.
    """
    shared.demand(models, [*shared.MODEL_COLUMNS, "frozen_heldout_error", "heldout_error"])
    at = [*SETTING, "seed"]
    reference = shared.selected(models)
    reference = reference[reference["learner"] == rtrl]
    for key, rows in shared.groups(reference, list(SETTING)):
        shared.one_rate(rows, key | {"learner": rtrl}, "selected")
    errors = reference.set_index(at)["heldout_error"]
    full = errors.reindex(pd.MultiIndex.from_frame(models[at])).to_numpy(float)
    frozen = models["frozen_heldout_error"].to_numpy(float)
    adapted = models["heldout_error"].to_numpy(float)
    better = np.where(frozen > full, frozen - full, np.nan)
    return 100.0 * (frozen - adapted) / better
