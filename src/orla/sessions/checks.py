"""Arrays of recordings, read after checks of their size, kind and range."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.files import MOST_NUMBERS


def require_distinct(variable: str, names: Sequence[Hashable]) -> None:
    """Raise an OrlaError where two channels have one name; sessions are matched by names."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        name = twice[0] if isinstance(twice[0], str) else " ".join(twice[0])
        raise OrlaError(f"{variable}: two channels are called '{name}'; give each its own name")


def require_size(variable: str, array: h5py.Dataset | np.ndarray) -> None:
    """Raise an OrlaError where an array, before it is read, has more than MOST_NUMBERS."""
    if (size := math.prod(array.shape or ())) > MOST_NUMBERS:
        raise OrlaError(
            f"{variable}: {size} numbers, more than the {MOST_NUMBERS} that are read at most; check"
            " the file, or cut the recording"
        )


def seconds(values: Any) -> np.ndarray:
    """Times as float64; of those in single precision the decimals that were stored so.

    A sample at 0.7 s is 0.699999988 in single precision, which a bin that begins at 0.7 would lose.
    Writers such as pynwb store such numbers in double precision, so the numbers tell, not the type.
    Others, such as multiples of 1/256 s, stay as they are.
    """
    values = np.asarray(values).astype(np.float64)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.array_equal(single, values):
        for decimals in range(3, 7):
            near = np.round(values, decimals)
            if np.array_equal(near.astype(np.float32), single):
                return near
    return values


def values_of(name: str, data: Any, kinds: str, what: str) -> np.ndarray:
    """A whole array, after a check of its size; `kinds` are the allowed numpy kinds."""
    if not hasattr(data, "dtype"):
        data = np.asarray(data)
    require_size(name, data)
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
