"""Recordings that come binned: counts and velocities in an .npz, without spike times."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orla.errors import OrlaError


@dataclass
class Binned:
    """A binned recording.

    Attributes:
        counts: (bins, units) int64 spikes a bin.
        velocities: (bins, 2) float64, in the file's own unit.
        bin_s: seconds a bin.
        trial: (bins,) int64, or None where the file has no trials.
        timestep: (bins,) int64 index of the bin in its trial, or None. Two rows follow each
            other in time only where the trial stays and this rises by one.
    """

    counts: np.ndarray
    velocities: np.ndarray
    bin_s: float
    trial: np.ndarray | None = None
    timestep: np.ndarray | None = None


def read(path: str | Path) -> Binned:
    """Read an .npz with ``counts`` (bins, units), ``vel`` (bins, 2) and ``bin_s`` (seconds).

    ``trial`` and ``timestep`` (bins,) are read where present; other keys are left alone.

    Raises:
        OrlaError: not an .npz, a key is missing, shapes disagree, or a value cannot be (negative
            or fractional counts, NaN, a bin of no length).
    """
    path = Path(path)
    arrays = _load(path)
    counts, velocities = arrays["counts"], arrays["vel"]
    bins = len(counts) if counts.ndim else 0
    _require_shape(path, "counts", counts, (bins, counts.shape[1] if counts.ndim == 2 else None))
    if counts.size == 0:
        raise OrlaError(f"{path}: counts: the recording is empty; use a file with bins and units")
    _require_shape(path, "vel", velocities, (bins, 2))
    _require_shape(path, "bin_s", arrays["bin_s"], ())
    for name in ("counts", "vel", "bin_s"):
        _require_finite(path, name, arrays[name])
    if (counts < 0).any() or (counts != np.floor(counts)).any():
        raise OrlaError(
            f"{path}: counts: negative or fractional values; give the spikes of each bin"
        )
    bin_s = float(arrays["bin_s"])
    if bin_s <= 0:
        raise OrlaError(f"{path}: bin_s: {bin_s:g} is no length of a bin; give it in seconds")
    order = {}
    for name in {"trial", "timestep"} & arrays.keys():
        _require_shape(path, name, arrays[name], (bins,))
        order[name] = arrays[name].astype(np.int64)
    return Binned(counts.astype(np.int64), velocities.astype(np.float64), bin_s, **order)


def _load(path: Path) -> dict[str, np.ndarray]:
    wanted = ("counts", "vel", "bin_s")
    try:
        with np.load(path, allow_pickle=False) as file:
            present = list(file)
            names = [key for key in (*wanted, "trial", "timestep") if key in present]
            arrays = {name: file[name] for name in names}
    except FileNotFoundError as error:
        raise OrlaError(f"{path}: there is no such file; mend the path") from error
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise OrlaError(
            f"{path}: not an .npz of numeric arrays, or cut short; save it with numpy.savez"
        ) from error
    missing = [key for key in wanted if key not in arrays]
    if missing:
        raise OrlaError(
            f"{path}: {', '.join(missing)} missing (the file has: {', '.join(present)}); "
            "save counts, vel and bin_s"
        )
    return arrays


def _require_shape(path: Path, name: str, array: np.ndarray, shape: tuple[int | None, ...]) -> None:
    if array.shape != shape:
        wanted = ", ".join("units" if size is None else str(size) for size in shape)
        raise OrlaError(f"{path}: {name}: shape {array.shape}, expected ({wanted}); mend the array")


def _require_finite(path: Path, name: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "biuf":
        raise OrlaError(f"{path}: {name}: holds {array.dtype}, not numbers; save numbers")
    bad = np.size(array) - np.count_nonzero(np.isfinite(array))
    if bad:
        raise OrlaError(f"{path}: {name}: {bad} values are NaN or infinite; remove those bins")
