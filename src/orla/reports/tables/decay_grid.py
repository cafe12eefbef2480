"""Decay of the trace and optimizer."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from orla.reports.beside import BesidePaper, Measure, Measures
from orla.reports.paper import load
from orla.study.keys import SETTING

_PARTS = "adapt", "heldout"


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

    measures: ClassVar[Measures] = {
        "recovery_percent": Measure(*(f"{part}_vs_hundred_percent" for part in _PARTS))
    }
    says = (
        "Trace learners by decay and optimizer: recovery over the adapt part (%), "
        "immediate derivatives with Adam as 100."
    )

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        at = [key for key in SETTING if key != "optimizer"] + ["seed"]
        theirs = load().document[self.part.more["paper"]]["hundred"]
        hundred = models[(models[list(theirs)] == pd.Series(theirs)).all(axis=1)]
        reached = hundred.set_index(at).reindex(pd.MultiIndex.from_frame(models[at]))
        recovered = {}
        for part in _PARTS:
            frozen = models[f"frozen_{part}_error"]
            gain = frozen - reached[f"{part}_error"].to_numpy(float)
            own = 100.0 * (frozen - models[f"{part}_error"]) / gain
            recovered[f"{part}_vs_hundred_percent"] = own
        return models.assign(**recovered)
