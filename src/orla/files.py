"""Writing files whole or not at all, arrays of other programs, and digests of files."""

import errno
import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from orla.errors import OrlaError

_FULL = {errno.ENOSPC, errno.EDQUOT}
MOST_BYTES = 2 << 30  # of all arrays that are read from one file; an hour of 50 ms bins takes 23 MB
_FULL_TEXTS = tuple(os.strerror(number) for number in sorted(_FULL))


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Write a file under a temporary name and rename it to `path` at the end of the block.

    Args:
        path: The finished file. Missing folders are made.

    Yields:
        A name in the same folder with the same suffix, to write to. It becomes `path` when the
        block ends without an error and is removed otherwise; an older `path` then stays as it was.

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
    """Whether `error`, or an error that it was raised from, means a full disk or quota.

    The message is searched too: h5py and pyarrow do not always keep the system's error number.
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


def results_in(folder: Path) -> list[Path]:
    """Every file below a study's folder of results; none of other studies that lie in it."""
    others = {path.parent for path in folder.glob("*/verdicts.parquet")}
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and not others & {*path.parents}
    ]


def load_arrays(
    path: str | Path, wanted: Sequence[str] | None = None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Read arrays of an .npz without unpickling; sizes are checked before anything is read.

    Args:
        path: the file.
        wanted: names; a name that the file lacks is skipped. None reads all arrays.

    Returns:
        The arrays, and the names of all arrays in the file.

    Raises:
        OrlaError: there is no such file; it is no .npz or is damaged; an array holds objects or
            fewer numbers than its header says; or the arrays take more than `MOST_BYTES`.
    """
    try:
        with zipfile.ZipFile(path) as file:
            sizes = {f.filename.removesuffix(".npy"): f.file_size for f in file.infolist()}
        chosen = {n: size for n, size in sizes.items() if wanted is None or n in wanted}
        if sum(chosen.values()) > MOST_BYTES:
            raise ValueError(f"{', '.join(chosen)} take more than {MOST_BYTES} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in chosen}, list(sizes)
    except FileNotFoundError:
        raise OrlaError(f"{path}: there is no such file; mend the path") from None
    except Exception as error:  # zipfile, zlib and numpy raise many kinds for a damaged file
        raise OrlaError(
            f"{path}: not an .npz of numeric arrays, or cut short "
            f"({str(error) or type(error).__name__}); save it with numpy.savez"
        ) from error
