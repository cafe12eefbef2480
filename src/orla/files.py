"""Files that are either whole or absent."""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orla.errors import OrlaError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FULL_TEXTS = tuple(os.strerror(number) for number in sorted(_FULL))


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Write a file under a passing name and rename it into place at the end of the block.

    Args:
        path: Where the finished file is to stand. Missing folders are made.

    Yields:
        A name in the same folder with the same suffix, to write to. It becomes `path` when the
        block ends well and is removed when it does not; an older `path` then stays as it was.

    Raises:
        OrlaError: When the disk (or the quota) is full.
    """
    path = Path(path)
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        os.replace(partial, path)
    except Exception as error:
        if is_disk_full(error):
            raise OrlaError(
                f"{path}: no space left on the disk (or the quota is reached); "
                f"free some space in {path.parent} and run again"
            ) from error
        raise
    finally:
        partial.unlink(missing_ok=True)


def is_disk_full(error: BaseException | None) -> bool:
    """Tell whether `error`, or what it was raised from, is a full disk or quota.

    The text is looked at too: h5py and pyarrow pass on the system's words, not always its number.
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if any(text in str(error) for text in _FULL_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


def sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
