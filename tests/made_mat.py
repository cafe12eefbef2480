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

from orla.sessions.simulator.days import both_days
from orla.sessions.simulator.settings import Settings

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

    Args:
        path: the .mat file.
        chan_names: n channel names, such as ``M1 001``.
        t: (k,) sample times in seconds, in steps of 4 ms.
        cursor_pos: (k, 2) cursor x, y in mm.
        finger_pos: (k, 3) fingertip z, -x, -y in cm; with 6 columns azimuth, elevation, roll too.
        target_pos: (k, 2) target x, y in mm.
        spikes: n rows of u arrays of event times in seconds; the first of a row holds the
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
    for path, (reaching, spikes) in zip((path_a, path_b), both_days(settings), strict=True):
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


def _write_array(group: h5py.Group, name: str, array: np.ndarray) -> h5py.Dataset:
    """Store a 2-D numeric array as MATLAB does; an empty one as its dimensions."""
    array = np.atleast_2d(array)
    if array.size == 0:
        dataset = group.create_dataset(name, data=np.array(array.shape, dtype=np.uint64))
        dataset.attrs["MATLAB_empty"] = np.uint8(1)
    else:
        packed = {"compression": 3, "shuffle": False} if array.size >= _COMPRESS_FROM else {}
        dataset = group.create_dataset(name, data=np.ascontiguousarray(array.T), **packed)
    dataset.attrs["MATLAB_class"] = np.bytes_("double")
    return dataset


def _write_text(group: h5py.Group, name: str, text: str) -> h5py.Dataset:
    """Store a 1 x n char array: its UTF-16 code units, one a column."""
    units = np.frombuffer(text.encode("utf-16-le"), dtype=np.uint16)
    dataset = group.create_dataset(name, data=units[:, None])
    dataset.attrs["MATLAB_class"] = np.bytes_("char")
    dataset.attrs["MATLAB_int_decode"] = np.int32(2)
    return dataset


def _write_cells(file: h5py.File, name: str, rows: Sequence[Sequence[np.ndarray | str]]) -> None:
    """Store an n x u cell array whose cells hold 2-D arrays or text."""
    pool = file.require_group(_REFERENCES)
    n, u = len(rows), len(rows[0]) if rows else 0
    references = np.empty((u, n), dtype=h5py.ref_dtype)
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            write = _write_text if isinstance(cell, str) else _write_array
            references[column, row] = write(pool, _reference_name(len(pool)), cell).ref
    dataset = file.create_dataset(name, data=references, dtype=h5py.ref_dtype)
    dataset.attrs["MATLAB_class"] = np.bytes_("cell")


def _reference_name(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    name = ""
    while True:
        number, place = divmod(number, len(letters))
        name = letters[place] + name
        if number == 0:
            return name
        number -= 1
