"""Delays of the delayed sine."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from orla.reports.beside import BesidePaper, Measures, errors
from orla.study.keys import SETTING


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

    measures: ClassVar[Measures] = errors(4)
    says = "Delayed sine by delay: mean squared error after the change."

    def models(self, models: pd.DataFrame) -> pd.DataFrame:
        # A network's frozen error is the same beside every learner and optimizer.
        kept = [key for key in SETTING if key not in ("learner", "optimizer")] + ["seed"]
        frozen = models.drop_duplicates(kept).assign(
            learner="frozen",
            adapt_error=lambda rows: rows["frozen_adapt_error"],
            heldout_error=lambda rows: rows["frozen_heldout_error"],
        )
        return pd.concat([models, frozen], ignore_index=True)
