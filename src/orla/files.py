"""Writing files whole or not at all, arrays of other programs, and digests of files."""

import errno
import glob
import hashlib
import math
import os
import platform
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from orla.errors import OrlaError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
MOST_BYTES = 2 << 30  # of a file that is read whole
MOST_NUMBERS = 1 << 26  # in what is read of a recording: 512 MiB; an hour of 50 ms bins has 3e6
MOST_TEXT = 1 << 20  # bytes of a file that is written by hand
# Names of partial files tell processes of machines apart that share a disk, without their names.
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
_FULL_TEXTS = tuple(os.strerror(number) for number in sorted(_FULL))


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Give the block a name to write a file under, which becomes `path` where it ends well.

    The name has the same suffix; missing folders are made, and what processes that were killed left
    of this file goes. OrlaError where the disk is full, or the folder read-only.
    """
    path = Path(path)
    partial = path.with_name(f".{path.stem}.{os.getpid()}-{_MACHINE}.partial{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        os.replace(partial, path)
        _remove_partial_files(path)
    except Exception as error:
        if is_disk_full(error):
            raise OrlaError(
                f"{path}: no space left on the disk (or the quota is reached); "
                f"free some space in {path.parent} and run again"
            ) from error
        if isinstance(error, OSError) and error.errno in _FORBIDDEN:
            raise OrlaError(
                f"{path}: cannot be written ({error.strerror}); make {path.parent} writable and "
                "run again"
            ) from error
        raise
    finally:
        with suppress(OSError):  # as on a disk that has turned read-only
            partial.unlink(missing_ok=True)


def _remove_partial_files(path: Path) -> None:
    """Remove the partial files of `path` whose processes, of this machine, are no more."""
    pattern = f".{glob.escape(path.stem)}.*-{_MACHINE}.partial{glob.escape(path.suffix)}"
    for partial in path.parent.glob(pattern):
        process = partial.name.removeprefix(f".{path.stem}.").partition("-")[0]
        try:
            if process.isdecimal():
                os.kill(int(process), 0)
        except ProcessLookupError:
            partial.unlink(missing_ok=True)
        except PermissionError:  # a process of another user
            continue


def is_disk_full(error: BaseException | None) -> bool:
    """Whether `error`, or one that it was raised from, means a full disk or quota.

    h5py and pyarrow do not always keep the system's error number, so that its words count too.
    """
    while error is not None:
        has_number = isinstance(error, OSError) and error.errno in _FULL
        if has_number or any(text in str(error) for text in _FULL_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def reraise_in_one_line(path: str | Path, what: str, mend: str) -> Iterator[None]:
    """Turn any error of the block into an OrlaError: what `path` cannot be read as, and a mend."""
    try:
        yield
    except OrlaError:
        raise
    except Exception as error:  # what libraries raise for a damaged file is of many kinds
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise OrlaError(f"{path}: {what} ({message}); {mend}") from error


def require_file(path: str | Path) -> Path:
    """A path, which is refused (OrlaError) where no file is, or a folder, a pipe or a device."""
    path = Path(path)
    if path.is_dir():
        raise OrlaError(f"{path}: a folder, not a file; mend the path")
    if not path.is_file():
        kind = "no plain file" if path.exists() else "there is no such file"
        raise OrlaError(f"{path}: {kind}; mend the path")
    return path


def read_file(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """A file's bytes, at most `most`; OrlaError also as in `require_file`."""
    with reraise_in_one_line(path, "cannot be read", "mend the path, or its permissions"):
        path = require_file(path)
        if (size := path.stat().st_size) > most:
            raise OrlaError(
                f"{path}: {size} bytes, more than the {most} that are read; is it the right file?"
            )
        return path.read_bytes()


def sha256(path: str | Path, most: int | None = None) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; with `most` as `read_file`."""
    if most is not None:
        return hashlib.sha256(read_file(path, most)).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_sha256(path: str | Path, digest: str | None, mend: str) -> Path:
    """A file's path, refused (OrlaError) where it has another SHA-256; None for any, if it is one.

    `mend` says what to do.
    """
    path = require_file(path)
    if digest is not None and (found := sha256(path)) != digest:
        raise OrlaError(f"{path}: its SHA-256 is {found}, not {digest or 'any given'}; {mend}")
    return path


def results_in(folder: Path) -> list[Path]:
    """Every file below a study's folder of results; none of other studies that lie in it."""
    other_studies = {path.parent for path in folder.glob("*/verdicts.parquet")}
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and not other_studies & {*path.parents}
    ]


def load_arrays_and_names(
    path: str | Path, only: Sequence[str] | None = None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays of an .npz (those of `only` that it has), and the names of all, without unpickling.

    OrlaError where it is none or damaged, two arrays have one name, or one holds objects or fewer
    numbers than its header says; and where they have more than `MOST_NUMBERS` together.
    """
    mend = "save it with numpy.savez"
    with reraise_in_one_line(path, "not an .npz of numeric arrays, or cut short", mend):
        return read_npz_arrays_and_names(require_file(path), only)


def read_npz_arrays_and_names(
    npz: Path | IO[bytes], only: Sequence[str] | None = None, most_numbers: int | None = None
) -> tuple[dict[str, Any], list[str]]:
    """`load_arrays_and_names` of an .npz of at most `most_numbers`; errors are of many kinds."""
    most_numbers = most_numbers or MOST_NUMBERS
    with zipfile.ZipFile(npz) as file:
        names = [member.filename.removesuffix(".npy") for member in file.infolist()]
        if twice := [name for name, times in Counter(names).items() if times > 1]:
            raise ValueError(f"it holds {twice[0]} twice")
        members = dict(zip(names, file.infolist(), strict=True))
        members = {name: members[name] for name in names if only is None or name in only}
        if sum(_count_numbers(name, file, m) for name, m in members.items()) > most_numbers:
            raise ValueError(f"{', '.join(members)} have more than {most_numbers} numbers")
        arrays = {}
        for name, member in members.items():
            with file.open(member) as array:
                arrays[name] = npy.read_array(array, allow_pickle=False)
        return arrays, names


def _count_numbers(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """How many numbers (of 8 bytes at least) an array has, by its header; its bytes are there."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        size, count = member.file_size - file.tell(), math.prod(shape)
    if not dtype.hasobject and min(shape, default=0) >= 0 and count * dtype.itemsize != size:
        raise ValueError(f"{name} of shape {shape} takes other than its {member.file_size} bytes")
    return count * max(1, dtype.itemsize // 8)
