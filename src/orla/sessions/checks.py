"""Checks of arrays and names in recordings, and times as they were before single precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import h5py
import numpy as np

from orla.errors import OrlaError
from orla.files import MOST_BYTES


def require_distinct(variable: str, names: Sequence[Hashable]) -> None:
    """Raise an OrlaError where two channels have one name; sessions are matched by names."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        name = twice[0] if isinstance(twice[0], str) else " ".join(twice[0])
        raise OrlaError(f"{variable}: two channels are called '{name}'; give each its own name")


def require_size(variable: str, array: h5py.Dataset | np.ndarray) -> None:
    """Raise an OrlaError where an array, before it is read, takes more than MOST_BYTES."""
    size = int(np.prod(array.shape, dtype=float)) * array.dtype.itemsize
    if size > MOST_BYTES:
        raise OrlaError(
            f"{variable}: {size / 2**30:.1f} GiB, more than the {MOST_BYTES >> 30} GiB "
            "that are read at most; check the file, or cut the recording"
        )


def seconds(values: Any) -> np.ndarray:
    """Times as float64; of those in single precision the shortest decimals that are stored so.

    A sample at 0.7 s is 0.699999988 in single precision, which a bin that begins at 0.7 would lose.
    Writers such as pynwb store such numbers in double precision, so the numbers tell, not the type.
    """
    values = np.asarray(values).astype(np.float64)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single.astype(str).astype(np.float64) if np.array_equal(single, values) else values
