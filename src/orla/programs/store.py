"""The folder in which compiled code is kept: whole, the user's own, and closed to others.

Compiled code that is loaded runs at once. So nothing is loaded from a folder or file that another
user owns or that others may write, nor where the sums that stand beside the files do not fit.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from orla import files

# Stands beside the files of a kept folder and tells whether they are whole.
_SUMS = "SHA256SUMS"


def say(message: str) -> None:
    """Tell whoever watches the job, on standard error."""
    print(f"orla: {message}", file=sys.stderr, flush=True)


def folder(kind: str = "") -> Path:
    """The folder of one kind of file ("programs", "kernels", ...) in the cache, made if need be.

    The cache is ORLA_CACHE, or ~/.cache/orla. Where it or the folder is not safe, which is said
    once, it is a folder of this process alone that ends with it.
    """
    cache = Path(os.environ.get("ORLA_CACHE") or Path.home() / ".cache" / "orla")
    wanted = cache / kind
    for part in (cache, wanted):
        _make(part)
        if not safe(part):
            wanted = _private() / kind
            _make(wanted)
            break
    return wanted


def safe(path: Path) -> bool:
    """Whether a file or folder is absent, or the user's own and closed to others.

    What is wrong with it is said once.
    """
    if (fault := _fault(path)) is None:
        return True
    _say_once(f"{path} {fault}: nothing is loaded from it, all is compiled afresh; {_mend(path)}")
    return False


@functools.cache
def _say_once(message: str) -> None:
    say(message)


def _make(part: Path) -> None:
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        pass  # a read-only or full disk: what is made there later is not kept


@functools.cache
def _private() -> Path:
    own = Path(tempfile.mkdtemp(prefix="orla-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


def _fault(path: Path) -> str | None:
    """Why nothing may be loaded from a file or folder; None where all is well or nothing is."""
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_uid != os.geteuid():
        return f"belongs to another user (number {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


def _mend(path: Path) -> str:
    if path.stat().st_uid != os.geteuid():
        return "set ORLA_CACHE to a folder of your own"
    return f"run chmod -R go-w {path}, or set ORLA_CACHE to a folder of your own"


def scratch(path: Path | None) -> Path:
    """An empty folder to make what is to be kept at `path`; beside it where that can be written."""
    if path is not None:
        try:
            return Path(tempfile.mkdtemp(prefix=f".{path.stem}.", dir=path.parent))
        except OSError:
            pass
    return Path(tempfile.mkdtemp(prefix="orla-"))


def keep(made: Path, path: Path) -> bool:
    """Move the folder `made` to `path`, with sums, in place of what is not whole there.

    Returns:
        Whether it is kept for later processes: a disk may be full or read-only.
    """
    try:
        for file in made.iterdir():
            file.chmod(0o600 | file.stat().st_mode & 0o100)
        (made / _SUMS).write_text(_sums(made))
        (made / _SUMS).chmod(0o600)
        if not whole(path):
            discard(path)
            made.rename(path)
    except OSError:
        return False
    return not (_private.cache_info().currsize and _private() in path.parents)


def discard(path: Path) -> None:
    """Remove a kept folder, or whatever stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def whole(path: Path) -> bool:
    """Whether the folder at `path` is safe to load from, and its files are as they were kept.

    A library that was cut off is not refused when it is loaded: it ends the process.
    """
    try:
        if not all(safe(part) for part in (path, *path.iterdir())):
            return False
        return (path / _SUMS).read_text() == _sums(path)
    except (OSError, UnicodeDecodeError):
        return False


def _sums(path: Path) -> str:
    kept = sorted(file for file in path.iterdir() if file.name != _SUMS)
    return "".join(f"{files.sha256(file)}  {file.name}\n" for file in kept)
