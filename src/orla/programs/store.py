"""Cache on disk of compiled code and answers: whole, the user's own, closed to others.

Compiled code that is loaded runs at once. So nothing is loaded from a folder or file that another
user owns or that others may write, nor where the sums that stand beside the files do not fit.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import orla
from orla import files
from orla.errors import OrlaError
from orla.programs import sources

T = TypeVar("T")

# For a job's environment: options of the C library, which else returns what a loop frees to the
# system each time, and the system clears the pages before it gives them out again.
MALLOC = "glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=33554432"

_MEND = "set ORLA_CACHE to a folder of your own"

# The file of a kept folder with the digests of its other files.
_SUMS = "SHA256SUMS"


def versions() -> list[str]:
    """Versions of Python, PyTorch, NumPy and this package, a part of every key of the cache."""
    return [sys.version, *map(version, ("torch", "numpy")), orla.__version__]


def say(message: str) -> None:
    """Print a message of the job on standard error."""
    print(f"orla: {message}", file=sys.stderr, flush=True)


def cache_folder(kind: str) -> Path:
    """The folder of one kind of file in the cache (ORLA_CACHE, or ~/.cache/orla).

    It is made if need be. Where it is not safe, which is said once, it is a folder of this process
    that ends with it.
    """
    cache = Path(os.environ.get("ORLA_CACHE") or Path.home() / ".cache" / "orla")
    if not all(ensure_safe_folder(part) for part in (cache, cache / kind)):
        cache = _temporary_process_folder()
        ensure_safe_folder(cache / kind)
    return cache / kind


def path_of_key(kind: str, key: Sequence[str], suffix: str = "") -> Path:
    """Where the cache keeps what these texts describe."""
    digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:32]
    return cache_folder(kind) / f"{digest}{suffix}"


def ensure_safe_folder(folder: Path, mend: str = _MEND) -> bool:
    """Make a folder, for the user alone (mode 0700), where there is none; whether it `is_safe`."""
    with suppress(OSError):  # a read-only or full disk: what is made there later is not kept
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    return is_safe(folder, mend)


def is_safe(path: Path, mend: str = _MEND) -> bool:
    """Whether a path is absent, or the user's own and closed to others; if not, say so once."""
    try:
        status = path.stat()
    except OSError:
        return True
    if status.st_uid != os.geteuid():
        fault = f"belongs to another user (number {status.st_uid})"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        fault, mend = "can be written by others", f"run chmod -R go-w {path}, or {mend}"
    else:
        return True
    _say_once(f"{path} {fault}: nothing is loaded from it, all is compiled afresh; {mend}")
    return False


@functools.cache
def _say_once(message: str) -> None:
    say(message)


@functools.cache
def _temporary_process_folder() -> Path:
    """A temporary folder of this process, which ends with it."""
    private = Path(tempfile.mkdtemp(prefix="orla-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


@contextmanager
def scratch(path: Path | None) -> Iterator[Path]:
    """A temporary folder for the block; beside `path`, if its contents are to be kept there."""
    place = {"prefix": f".{path.stem}.", "dir": path.parent} if path else {}
    folder = functools.partial(tempfile.TemporaryDirectory, ignore_cleanup_errors=True)
    try:
        temporary = folder(**place)
    except OSError:
        temporary = folder(prefix="orla-")
    with temporary as name:
        yield Path(name)


@contextmanager
def lock_on(path: Path | None) -> Iterator[None]:
    """Lock `path`, so that one process makes what is kept there and the next ones load it.

    The lock ends with its process. On a disk without locks nobody waits.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            if path:
                lock = stack.enter_context((cache_folder("locks") / path.name).open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep(source: Path, path: Path) -> bool:
    """Move the folder `source` to `path`; whether it is kept for later processes.

    It gets digests of its files, and replaces what is not whole at `path`.
    """
    try:
        for file in source.iterdir():
            file.chmod(0o600 | file.stat().st_mode & 0o100)
        (source / _SUMS).write_text(_sha256sum_text(source))
        (source / _SUMS).chmod(0o600)
        if not is_whole(path):
            discard(path)
            source.rename(path)
    except OSError:
        return False
    private = _temporary_process_folder
    return not (private.cache_info().currsize and private() in path.parents)


def load_or_discard(path: Path, load: Callable[[Path], T]) -> T | None:
    """`load(path)`; None where the folder is absent, unsafe or damaged, and then it is removed."""
    if not is_whole(path):
        return None
    try:
        return load(path)
    except (OSError, RuntimeError, ValueError, StopIteration):
        discard(path)  # whatever it is, making it again mends it
        return None


def discard(path: Path) -> None:
    """Remove a kept folder, or whatever stands in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def is_whole(path: Path) -> bool:
    """Whether the folder at `path` is safe to load from, and its files are as they were kept."""
    try:
        if not all(is_safe(part) for part in (path, *path.iterdir())):
            return False
        return (path / _SUMS).read_text() == _sha256sum_text(path)
    except (OSError, UnicodeDecodeError):
        return False


def _sha256sum_text(path: Path) -> str:
    """Digest and name of each file of a folder, a line each, as sha256sum writes them."""
    contents = sorted(file for file in path.iterdir() if file.name != _SUMS)
    return "".join(f"{files.sha256(file)}  {file.name}\n" for file in contents)


def cached_result(kind: str, inputs: Any, compute: Callable[[], Any]) -> Any:
    """What `compute` answers to `inputs`, both JSON; cached for these sources and libraries."""
    inputs_text = json.dumps(inputs, sort_keys=True)
    path = path_of_key(kind, [inputs_text, sources.digest(), *versions()], ".json")
    with suppress(OSError, ValueError, TypeError, KeyError):
        entry = json.loads(path.read_text(encoding="utf-8")) if is_safe(path) else {}
        if entry["question"] == inputs_text:
            return entry["answer"]
    text = json.dumps({"question": inputs_text, "answer": compute()})
    # On a full or read-only disk the next process works it out again.
    with suppress(OSError, OrlaError), files.atomic(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return json.loads(text)["answer"]
