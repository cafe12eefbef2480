"""Scaling: z-scores by the mean and standard deviation of the rows it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orla.errors import OrlaError

_CONSTANT = 1e-12


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of each column, from the rows it was fitted on."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fit(cls, rows: np.ndarray, names: Sequence[str], where: str) -> Scaling:
        """Fit to `rows` (steps, columns); a constant column is an error that names it."""
        mean, sd = rows.mean(axis=0), rows.std(axis=0)
        constant = np.flatnonzero(~(sd > _CONSTANT * np.maximum(1.0, np.abs(mean))))
        if constant.size:
            raise OrlaError(
                f"{where}: {names[constant[0]]} is constant over the pretraining part, so it "
                "cannot be z-scored; ask for fewer inputs, or check the recording"
            )
        return cls(mean, sd)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.sd
