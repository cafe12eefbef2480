"""HDF5 files that are either whole or absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py

from orla.files import atomic


@contextmanager
def whole(path: str | Path, user_block: bytes = b"", **options: Any) -> Iterator[h5py.File]:
    """Fill an HDF5 file in memory and write it at the end of the block, or not at all.

    The HDF5 library ends the program (segmentation fault) when the disk is full; an ordinary
    write is an error that can be told.

    Args:
        path: the file to write.
        user_block: what stands before the HDF5 part; a power of two of 512 bytes or more.
        options: of h5py.File.

    Raises:
        OrlaError: the disk is full.
    """
    buffer = BytesIO()
    with h5py.File(buffer, "w", userblock_size=len(user_block), **options) as file:
        yield file
    content = buffer.getbuffer()
    content[: len(user_block)] = user_block
    with atomic(path) as partial:
        partial.write_bytes(content)
