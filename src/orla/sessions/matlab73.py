"""Write variables as MATLAB's ``save -v7.3`` does: HDF5 behind a 512-byte header.

Arrays are stored transposed (MATLAB is column-major), text as uint16, a cell array as object
references into ``/#refs#``, and an empty array as its two dimensions with the attribute
``MATLAB_empty``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import h5py
import numpy as np

from orla.sessions import hdf5

_HEADER_BYTES = 512
_REFERENCES = "#refs#"
_COMPRESS_FROM = 4096  # elements; small arrays stay contiguous, as MATLAB leaves them


def create(path: str | Path) -> AbstractContextManager[h5py.File]:
    """A new file with MATLAB's header (without a time stamp) that appears whole or not at all."""
    text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created by orla HDF5 schema 1.00 ."
    version = (0x0200).to_bytes(2, "little")
    header = text.ljust(116) + bytes(8) + version + b"IM"
    return hdf5.whole(path, user_block=header.ljust(_HEADER_BYTES, b"\0"), libver="earliest")


def write_array(group: h5py.Group, name: str, array: np.ndarray) -> h5py.Dataset:
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


def write_text(group: h5py.Group, name: str, text: str) -> h5py.Dataset:
    """Store a 1 x n char array: its UTF-16 code units, one a column."""
    units = np.frombuffer(text.encode("utf-16-le"), dtype=np.uint16)
    dataset = group.create_dataset(name, data=units[:, None])
    dataset.attrs["MATLAB_class"] = np.bytes_("char")
    dataset.attrs["MATLAB_int_decode"] = np.int32(2)
    return dataset


def write_cells(file: h5py.File, name: str, rows: Sequence[Sequence[np.ndarray | str]]) -> None:
    """Store an n x u cell array whose cells hold 2-D arrays or text."""
    pool = file.require_group(_REFERENCES)
    n, u = len(rows), len(rows[0]) if rows else 0
    references = np.empty((u, n), dtype=h5py.ref_dtype)
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            write = write_text if isinstance(cell, str) else write_array
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
