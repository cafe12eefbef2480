"""Scaling: z-scores of both sessions by the mean and standard deviation of A's pretraining part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orla.errors import OrlaError

_CONSTANT = 1e-12

Pair = tuple[np.ndarray, np.ndarray]


def scaled(rows: Pair, n_pretraining: int, names: Sequence[str], where: str) -> Pair:
    """Rows (steps, columns) of A and B, z-scored by the first `n_pretraining` of A.

    Raises:
        OrlaError: a column is constant there; `names` of the columns and `where` name it.
    """
    fitted = rows[0][:n_pretraining]
    mean, sd = fitted.mean(axis=0), fitted.std(axis=0)
    constant = np.flatnonzero(~(sd > _CONSTANT * np.maximum(1.0, np.abs(mean))))
    if constant.size:
        raise OrlaError(
            f"{where}: {names[constant[0]]} is constant over the pretraining part, so it "
            "cannot be z-scored; ask for fewer inputs, or check the recording"
        )
    return (rows[0] - mean) / sd, (rows[1] - mean) / sd
