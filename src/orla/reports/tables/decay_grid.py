"""Decay of the trace and optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from orla.reports.beside import BesidePaper, Measures, condition
from orla.study.keys import SETTING


class DecayGrid(
    BesidePaper,
    name="decay_grid",
    label="Decay of the trace",
    chapter="breadth",
    order=30,
    needs=("heldout",),
    paper="decay_grid",
):
    """Recovery by decay and optimizer, ours and the paper's."""

    measures: ClassVar[Measures] = {"recovery_percent": ("adapt_vs_immediate_adam_percent",) * 2}
    digits = 1
    says = (
        "Trace learners by decay and optimizer: recovery over the adapt part (%), "
        "immediate derivatives with Adam as 100."
    )

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        return condition(row)

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        at = [key for key in SETTING if key != "optimizer"] + ["seed"]
        hundred = models[(models["learner"] == "immediate") & (models["optimizer"] == "adam")]
        errors = hundred.set_index(at)["adapt_error"]
        reached = errors.reindex(pd.MultiIndex.from_frame(models[at])).to_numpy(float)
        frozen = models["frozen_adapt_error"]
        recovered = 100.0 * (frozen - models["adapt_error"]) / (frozen - reached)
        return models.assign(adapt_vs_immediate_adam_percent=recovered)
