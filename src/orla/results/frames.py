"""The wide tables of a study, from the long tables and traces of its conditions."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from orla.results.against_rtrl import BEST, COLUMN, recovery_vs_best_rtrl, recovery_vs_rtrl
from orla.study import tidy


def frames(
    tables: Iterable[pd.DataFrame],
    traces: Iterable[Mapping[str, np.ndarray]],
    exact: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """The tables that statistics and reports read, by the name of their file.

    Args:
        tables: The long table of each condition (`orla.study.sweep.Sweep`).
        traces: The traces of each condition, in the same order.
        exact: Names of learners that are full RTRL, for recovery measured against it.

    Returns:
        "lr_curves": a row a model; "heldout": those at the selected rate; "traces": a row a window
        of those; "horizon", "alignment" and "profile": see `orla.study.tidy.wide`.

    Raises:
        OrlaError: As in `recovery_vs_rtrl`.
    """
    wide = tidy.wide(tables)
    models = wide.pop("models")
    models[COLUMN] = recovery_vs_rtrl(models, exact)
    for part, column in BEST.items():
        models[column] = recovery_vs_best_rtrl(models, exact, part)
    along = tidy.traces(models, traces)
    return {"lr_curves": models, "heldout": models[models["selected"]], "traces": along, **wide}
