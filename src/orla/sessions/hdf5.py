"""HDF5 files: written whole or not at all; damage is reported in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py

from orla.errors import OrlaError
from orla.files import atomic


@contextmanager
def whole(path: str | Path, user_block: bytes = b"", **options: Any) -> Iterator[h5py.File]:
    """Fill an HDF5 file in memory and write it at the end of the block, or not at all.

    The HDF5 library crashes (segmentation fault) when the disk is full; writing the finished
    bytes raises an ordinary error.

    Args:
        path: the file to write.
        user_block: bytes before the HDF5 part; their number is a power of two, at least 512.
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


@contextmanager
def damage_told(path: Path, form: str) -> Iterator[None]:
    """Raise an OrlaError in place of the errors of HDF5 libraries on a damaged file.

    Args:
        path: the file that is read in the block.
        form: the expected format, such as NWB, for the message.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise OrlaError(
            f"{path}: cannot be read as {form}, a part of it is damaged or of another kind "
            f"({type(error).__name__}: {first_line(error)}); get the file again"
        ) from error


def first_line(error: Exception) -> str:
    """The first line of a message, or the error's name where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
