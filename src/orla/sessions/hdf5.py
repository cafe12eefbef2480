"""HDF5 files: written whole or not at all; damage is reported in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import h5py

from orla.errors import OrlaError, naming
from orla.files import atomic

T = TypeVar("T")


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
def reading(
    path: Path, form: str, opened: Callable[[Path], AbstractContextManager[T]]
) -> Iterator[T]:
    """The content of a file, as `opened(path)` gives it; every error of the block names the file.

    Args:
        path: the file that is read in the block.
        form: the expected format, such as NWB, for messages.
        opened: opens the file.

    Raises:
        OrlaError: there is no such file, or it is of another format, cut short or damaged; and
            every OrlaError of the block.
    """
    if not path.is_file():
        raise OrlaError(f"{path}: there is no such file; download it or mend the path")
    with naming(path), ExitStack() as stack:
        try:
            file = stack.enter_context(opened(path))
        except Exception as error:  # pynwb and hdmf raise many kinds for a file that is no NWB
            raise OrlaError(
                f"cannot be read as {form}, it is another format, cut short or damaged "
                f"({_first_line(error)}); get the file again"
            ) from error
        try:
            yield file
        except (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise OrlaError(
                f"cannot be read as {form}, a part of it is damaged or of another kind "
                f"({type(error).__name__}: {_first_line(error)}); get the file again"
            ) from error


def _first_line(error: Exception) -> str:
    """The first line of a message, or the error's name where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
