"""Scaling: z-scores of both sessions by the mean and standard deviation of A's pretraining part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from orla.errors import OrlaError

_CONSTANT = 1e-12

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Scaling:
    """Mean and standard deviation of columns, (columns,) each."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fit(cls, pretraining: np.ndarray, names: Sequence[str], where: str) -> Self:
        """Fit to rows (steps, columns) of A's pretraining part.

        Raises:
            OrlaError: a column is constant there; `names` of the columns and `where` name it.
        """
        mean, sd = pretraining.mean(axis=0), pretraining.std(axis=0)
        constant = np.flatnonzero(~(sd > _CONSTANT * np.maximum(1.0, np.abs(mean))))
        if constant.size:
            raise OrlaError(
                f"{where}: {names[constant[0]]} is constant over the pretraining part, so it "
                "cannot be z-scored; ask for fewer inputs, or check the recording"
            )
        return cls(mean, sd)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean) / self.sd
