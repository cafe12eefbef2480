"""Checks of arrays of recordings: sizes, kinds and ranges."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.files import MOST_NUMBERS


def require_distinct(variable: str, names: Sequence[Hashable]) -> None:
    """Refuse two channels of one name; sessions are matched by names."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        name = twice[0] if isinstance(twice[0], str) else " ".join(twice[0])
        raise OrlaError(f"{variable}: two channels are called '{name}'; give each its own name")


def refuse_oversized(variable: str, array: h5py.Dataset | np.ndarray) -> None:
    """Refuse an array of more than MOST_NUMBERS, before it is read."""
    if (size := math.prod(array.shape or ())) > MOST_NUMBERS:
        raise OrlaError(
            f"{variable}: {size} numbers, more than the {MOST_NUMBERS} that are read at most; check"
            " the file, or cut the recording"
        )


def find_runs(mask: np.ndarray) -> np.ndarray:
    """First index of each run of True in a mask, and the index after its last one: (runs, 2)."""
    padded = np.concatenate([[False], mask, [False]]).astype(int)
    return np.flatnonzero(np.diff(padded)).reshape(-1, 2)


def read_values(name: str, data: Any, kinds: str, what: str) -> np.ndarray:
    """A whole array, after a check of its size; `kinds` are the allowed numpy kinds."""
    if not hasattr(data, "dtype"):
        data = np.asarray(data)
    refuse_oversized(name, data)
    values = np.asarray(data[()] if data.ndim == 0 else data[:])
    if values.dtype.kind not in kinds:
        raise OrlaError(f"{name}: holds {values.dtype}, not {what}; mend the file")
    return values


def read_numbers(name: str, data: Any) -> np.ndarray:
    """A whole array of numbers, as float64."""
    return read_values(name, data, "fiu", "numbers").astype(np.float64)


def squeeze_row_or_column(values: np.ndarray) -> np.ndarray:
    """A vector, also of the column or row that MATLAB has in its place; other arrays as given."""
    return values.ravel() if values.ndim == 2 and 1 in values.shape else values


def read_indices(name: str, data: Any, most: int) -> np.ndarray:
    """Whole numbers from 0 to `most`."""
    values = squeeze_row_or_column(read_values(name, data, "iu", "whole numbers")).astype(np.int64)
    if values.size and not (values.min() >= 0 and values.max() <= most):
        raise OrlaError(
            f"{name}: holds {values.min()} to {values.max()}, but there are 0 to {most}; "
            "the file is damaged, get it again"
        )
    return values


def read_ragged_rows(
    name: str, column: Any, rows: int, kind: Callable[[Any], np.ndarray] = np.float64
) -> list[np.ndarray]:
    """The rows of an indexed column of numbers; the index must end where the numbers do."""
    values = kind(squeeze_row_or_column(read_numbers(name, column.target.data)))
    ends = read_indices(f"{name}_index", column.data, len(values))
    if len(ends) != rows or (np.diff(ends) < 0).any() or ends[-1] != len(values):
        raise OrlaError(
            f"{name}_index: does not share {len(values)} values out to {rows} units; the "
            "file is damaged, get it again"
        )
    return np.split(values, ends[:-1])
