"""Errors over the stream, as a tidy table."""

import numpy as np
import pandas as pd

from orla.study.keys import KEYS


def selected(
    models: pd.DataFrame, error: np.ndarray, frozen_error: np.ndarray, window: int
) -> pd.DataFrame:
    """The traces of the models at the selected rate, as a tidy table.

    Args:
        models: One row a model, with the condition's keys, seed and `selected`.
        error: Mean error of each model in each window, (models, windows), rows as in `models`.
        frozen_error: The same of networks that do not adapt, (seeds, windows), row i of seed i.
        window: Steps of a window.

    Returns:
        One row a model and window: the keys, seed, step (the window's last, counted from 1), error,
        frozen_error.
    """
    rows = np.flatnonzero(models["selected"])
    windows = error.shape[1]
    chosen = models.iloc[np.repeat(rows, windows)]
    table = chosen[[*KEYS, "seed"]].reset_index(drop=True)
    table["step"] = np.tile(window * np.arange(1, windows + 1), len(rows))
    table["error"] = error[rows].ravel()
    table["frozen_error"] = frozen_error[models["seed"].to_numpy()[rows]].ravel()
    return table
