"""Arrays of NWB files, read after checks of their size, kind and range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.sessions import checks


def values_of(name: str, data: Any, kinds: str, what: str) -> np.ndarray:
    """A whole array, after a check of its size; `kinds` are the allowed numpy kinds."""
    if not hasattr(data, "dtype"):
        data = np.asarray(data)
    checks.require_size(name, data)
    values = data[()] if data.ndim == 0 else data[:]
    if (values := np.asarray(values)).dtype.kind not in kinds:
        raise OrlaError(f"{name}: holds {values.dtype}, not {what}; mend the file")
    return values


def numbers(name: str, data: Any) -> np.ndarray:
    """A whole array of numbers, as float64."""
    return values_of(name, data, "fiu", "numbers").astype(np.float64)


def indices(name: str, data: Any, most: int) -> np.ndarray:
    """Whole numbers from 0 to `most`."""
    values = values_of(name, data, "iu", "whole numbers").astype(np.int64)
    if values.size and not (values.min() >= 0 and values.max() <= most):
        raise OrlaError(
            f"{name}: holds {values.min()} to {values.max()}, but there are 0 to {most}; "
            "the file is damaged, get it again"
        )
    return values


def ragged(
    name: str, column: Any, rows: int, kind: Callable[[Any], np.ndarray] = np.float64
) -> list[np.ndarray]:
    """The rows of an indexed column of numbers; the index must end where the numbers do."""
    values = kind(values_of(name, column.target.data, "fiu", "numbers"))
    ends = indices(f"{name}_index", column.data, len(values))
    if len(ends) != rows or (np.diff(ends) < 0).any() or ends[-1] != len(values):
        raise OrlaError(
            f"{name}_index: does not share {len(values)} values out to {rows} units; the "
            "file is damaged, get it again"
        )
    return np.split(values, ends[:-1])
