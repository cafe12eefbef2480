"""Errors along the stream, as a tidy table."""

import numpy as np
import pandas as pd

KEYS = ["architecture", "learner", "optimizer", "precision", "split", "seed"]


def selected(
    models: pd.DataFrame, mse: np.ndarray, frozen_mse: np.ndarray, window: int
) -> pd.DataFrame:
    """Lay out the traces of the models at the selected rate.

    Args:
        models: One row a model, with the condition's keys, seed and `selected`.
        mse: Mean error of each model in each window, (models, windows), rows as in `models`.
        frozen_mse: The same of the networks that do not adapt, (seeds, windows), row i of seed i.
        window: Steps of a window.

    Returns:
        One row a model and window: the keys, seed, step (the window's last, counted from 1), mse,
        frozen_mse.
    """
    rows = np.flatnonzero(models["selected"])
    windows = mse.shape[1]
    chosen = models.iloc[np.repeat(rows, windows)]
    table = chosen[KEYS].reset_index(drop=True)
    table["step"] = np.tile(window * np.arange(1, windows + 1), len(rows))
    table["mse"] = mse[rows].ravel()
    table["frozen_mse"] = frozen_mse[models["seed"].to_numpy()[rows]].ravel()
    return table
