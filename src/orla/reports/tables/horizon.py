"""Delays of the delayed sine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from orla.reports.beside import ERRORS, BesidePaper, Measures, condition


class Horizon(
    BesidePaper,
    name="horizon",
    label="Delay",
    chapter="breadth",
    order=60,
    needs=("heldout",),
    paper="delays",
):
    """Errors by delay, ours and the paper's."""

    measures: ClassVar[Measures] = ERRORS
    digits = 4
    says = "Delayed sine by delay: mean squared error after the change."

    def keys(self, row: Mapping[str, Any]) -> dict[str, str] | None:
        task = f"delayed-{row['delay_steps']}"
        return condition(row | {"task": task})

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        frozen = models[models["learner"] == "immediate"].assign(
            learner="frozen",
            adapt_error=lambda rows: rows["frozen_adapt_error"],
            heldout_error=lambda rows: rows["frozen_heldout_error"],
        )
        return pd.concat([models, frozen], ignore_index=True)
