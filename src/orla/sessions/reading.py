"""How bins of one session become a network's inputs: plain data that a decoder carries."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from orla.errors import OrlaError

TRANSFORMS = {"sqrt": np.sqrt, "absolute": np.abs, "none": np.float64}
_CONSTANT = 1e-12


@dataclass(frozen=True)
class Reading:
    """Inputs of bins: the transform of some columns, times `weights`, plus `offset`.

    Attributes:
        transform: one of `TRANSFORMS`.
        channels: names or numbers of the recording's columns, in their order.
        columns: numbers of those that inputs are made of.
        weights, offset: (columns, inputs) and (inputs,).
    """

    transform: str
    channels: list[str | int]
    columns: np.ndarray
    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, bins: np.ndarray) -> np.ndarray:
        """Inputs (..., inputs) of bins (..., channels)."""
        return TRANSFORMS[self.transform](bins[..., self.columns]) @ self.weights + self.offset

    def part(self, inputs: np.ndarray) -> Self:
        """Some of the inputs, by their numbers."""
        return replace(self, weights=self.weights[:, inputs], offset=self.offset[inputs])

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in asdict(self).items()}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """What `record` gave."""
        arrays = {name: np.asarray(record[name]) for name in ("columns", "weights", "offset")}
        return cls(record["transform"], record["channels"], **arrays)


@dataclass(frozen=True)
class Scaling:
    """z-scores of columns: their mean and standard deviation over A's pretraining part."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def fit(cls, pretraining: np.ndarray, names: Sequence[str], where: str) -> Self:
        """Fit to rows (steps, columns)."""
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
