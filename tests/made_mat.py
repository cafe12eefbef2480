"""Sessions written as MATLAB v7.3 files in the layout of O'Doherty et al.

As MATLAB's ``save -v7.3`` does: HDF5 behind a 512-byte header; arrays transposed (MATLAB is
column-major); text as uint16; a cell array as object references into ``/#refs#``; an empty array as
its two dimensions with the attribute ``MATLAB_empty``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from orla.sessions.simulator import Settings
from orla.sessions.simulator.days import simulate_both_days

_HEADER_BYTES = 512
_REFERENCES = "#refs#"
_COMPRESS_FROM = 4096  # elements; small arrays stay contiguous, as MATLAB leaves them


def write_session(
    path: str | Path,
    *,
    chan_names: Sequence[str],
    t: np.ndarray,
    cursor_pos: np.ndarray,
    finger_pos: np.ndarray,
    target_pos: np.ndarray,
    spikes: Sequence[Sequence[np.ndarray]],
) -> None:
    """Write a session in the layout of the Zenodo record 3854034, without waveforms.

    Positions are in mm, (k, 2), of the finger in cm, (k, 3): z, -x, -y; with 6 columns azimuth,
    elevation and roll too. `spikes` are n rows of event times (s): the first of a row holds the
    unsorted threshold crossings of that channel, the others its sorted units.
    """
    with _created(path) as file:
        _write_cells(file, "chan_names", [[name] for name in chan_names])
        _write_array(file, "t", _column(t))
        _write_array(file, "cursor_pos", np.asarray(cursor_pos, float))
        _write_array(file, "finger_pos", np.asarray(finger_pos, float))
        _write_array(file, "target_pos", np.asarray(target_pos, float))
        _write_cells(file, "spikes", [[_column(times) for times in row] for row in spikes])


def simulate(path_a: Path | str, path_b: Path | str, settings: Settings) -> None:
    """Write both sessions of a simulated pair."""
    names = [f"M1 {i + 1:03d}" for i in range(settings.array.n_channels)]
    for path, (reaching, spikes) in zip(
        (path_a, path_b), simulate_both_days(settings), strict=True
    ):
        write_session(
            path,
            chan_names=names,
            t=reaching.t,
            cursor_pos=reaching.cursor_mm,
            finger_pos=reaching.finger_cm,
            target_pos=reaching.target_mm,
            spikes=spikes,
        )


def _column(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=float).reshape(-1, 1)


@contextmanager
def _created(path: str | Path) -> Iterator[h5py.File]:
    """A new file with MATLAB's header, without a time stamp."""
    text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created by orla HDF5 schema 1.00 ."
    version = (0x0200).to_bytes(2, "little")
    with h5py.File(path, "w", userblock_size=_HEADER_BYTES, libver="earliest") as file:
        yield file
    with open(path, "r+b") as file:
        file.write((text.ljust(116) + bytes(8) + version + b"IM").ljust(_HEADER_BYTES, b"\0"))


def _write_array(group: h5py.Group, name: str, array: np.ndarray | str) -> h5py.Dataset:
    """Store a 2-D numeric array as MATLAB does, an empty one as its dimensions; or text."""
    if isinstance(array, str):  # its UTF-16 code units, one a column
        units = np.frombuffer(array.encode("utf-16-le"), dtype=np.uint16)
        dataset = group.create_dataset(name, data=units[:, None])
        dataset.attrs["MATLAB_int_decode"] = np.int32(2)
    elif array.size == 0:
        dataset = group.create_dataset(name, data=np.array(array.shape, dtype=np.uint64))
        dataset.attrs["MATLAB_empty"] = np.uint8(1)
    else:
        packed = {"compression": 3, "shuffle": False} if array.size >= _COMPRESS_FROM else {}
        dataset = group.create_dataset(name, data=np.ascontiguousarray(array.T), **packed)
    dataset.attrs["MATLAB_class"] = np.bytes_("char" if isinstance(array, str) else "double")
    return dataset


def _write_cells(file: h5py.File, name: str, rows: Sequence[Sequence[np.ndarray | str]]) -> None:
    """Store an n x u cell array whose cells hold 2-D arrays or text."""
    pool = file.require_group(_REFERENCES)
    references = np.empty((len(rows[0]), len(rows)), dtype=h5py.ref_dtype)
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            references[column, row] = _write_array(pool, f"{len(pool):06d}", cell).ref
    dataset = file.create_dataset(name, data=references, dtype=h5py.ref_dtype)
    dataset.attrs["MATLAB_class"] = np.bytes_("cell")
