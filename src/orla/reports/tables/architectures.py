"""Architectures on the sine whose frequency changes."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from orla.reports.agreement import ADAPTS
from orla.reports.beside import VS_RTRL, BesidePaper, Measure, Measures

_CHANGE = Measure("adapt_change_percent", "heldout_change_percent", on_heldout=True, change=True)


class Architectures(
    BesidePaper,
    name="architectures",
    label="Architectures on sine",
    chapter="breadth",
    order=40,
    needs=("heldout",),
    paper="architectures",
):
    """Recovery by network, ours and the paper's."""

    measures: ClassVar[Measures] = {"recovery_vs_rtrl_percent": VS_RTRL, "recovery_text": _CHANGE}
    says = "Immediate derivatives with Adam by network: recovery (%), exact RTRL is 100."
    remarks = (
        "LeWM: ours is a small transformer with weights of its own; the paper's row is of "
        "pretrained weights, which this study does not have.",
        ADAPTS,
    )

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        """The models, with by how much the error differs from the frozen network's (%)."""
        adapt = models["adapt_error"] / models["frozen_adapt_error"]
        heldout = models["heldout_error"] / models["frozen_heldout_error"]
        return models.assign(
            adapt_change_percent=100.0 * (adapt - 1),
            heldout_change_percent=100.0 * (heldout - 1),
        )
