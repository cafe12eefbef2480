"""Architectures on the sine whose frequency changes."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from orla.reports.agreement import ADAPTS
from orla.reports.beside import CHANGE, VS_RTRL, BesidePaper, Measures, with_changes


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

    measures: ClassVar[Measures] = {"recovery_vs_rtrl_percent": VS_RTRL, "recovery_text": CHANGE}
    says = "Immediate derivatives with Adam by network: recovery (%), exact RTRL is 100."
    remarks = (
        "LeWM: ours is a small transformer with weights of its own; the paper's row is of "
        "pretrained weights, which this study does not have.",
        ADAPTS,
    )

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        return with_changes(models)
