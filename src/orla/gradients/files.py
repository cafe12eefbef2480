"""Weights and streams in .npz files, as anyone may write them; checked before use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.errors import OrlaError
from orla.files import atomic, load_arrays
from orla.schema import nearest


def read_stream(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """X (steps, n_in) and Y (steps, n_out) of a stream.

    Raises:
        OrlaError: X or Y is missing, has another shape, or has an entry that is no finite number.
    """
    arrays, _ = load_arrays(path)
    X, Y = (_matrix(path, arrays, *named) for named in (("X", "steps, in"), ("Y", "steps, out")))
    if len(X) != len(Y):
        raise OrlaError(f"{path}: X has {len(X)} steps and Y has {len(Y)}; give both as many")
    return X, Y


def read_weights(
    path: Path, part: str | Mapping[str, Any], n_in: int, n_out: int, dtype: torch.dtype
) -> tuple[Architecture, Parameters]:
    """The network of an architecture (its name, or its kind and options) and its weights in `path`.

    The columns of W_out are its hidden units.

    Raises:
        OrlaError: A parameter is missing, unknown, misshapen, or has an entry that is no finite
            number; no architecture has that name; or its options do not fit.
    """
    arrays, _ = load_arrays(path)
    named = {"kind": part} if isinstance(part, str) else part
    name = named["kind"]
    given = {"hidden": _matrix(path, arrays, "W_out", "out, hidden").shape[1], **named}
    network = catalogue.make("architecture", given, n_in=n_in, n_out=n_out)
    shapes = network.shapes()
    for key in arrays:
        if key not in shapes:
            raise OrlaError(
                f"{path}: {key} is no parameter of {name}; {nearest(key, list(shapes))}"
            )
    for key, shape in shapes.items():
        if key not in arrays:
            raise OrlaError(f"{path}: {key} is missing; {name} needs {', '.join(shapes)}")
        _check_numbers(path, key, arrays[key])
        if arrays[key].shape != shape:
            raise OrlaError(
                f"{path}: {key} has shape {arrays[key].shape}, not {shape}, which {name} needs with"
                f" {network.hidden} units (columns of W_out), {n_in} inputs and {n_out} outputs"
            )
    return network, {
        key: torch.as_tensor(arrays[key].astype(np.float64), dtype=dtype) for key in shapes
    }


def _matrix(path: Path, arrays: Mapping[str, np.ndarray], name: str, axes: str) -> np.ndarray:
    if name not in arrays:
        raise OrlaError(f"{path}: {name} is missing; it needs {name} ({axes})")
    _check_numbers(path, name, array := arrays[name])
    if array.ndim != 2 or 0 in array.shape:
        raise OrlaError(
            f"{path}: {name} has shape {array.shape};"
            f" give it as ({axes}), with at least one of each"
        )
    return array.astype(np.float64)


def _check_numbers(path: Path, name: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "fiu":
        raise OrlaError(f"{path}: {name} holds {array.dtype}; give real numbers")
    if not np.isfinite(array).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise OrlaError(f"{path}: {name} is not finite at {first}; give finite numbers")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz file, whole or not at all. Raises OrlaError where it cannot be written."""
    try:
        with atomic(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)
    except OSError as error:
        raise OrlaError(f"{path}: cannot be written ({error.strerror})") from None
