"""Digests that reveal a damaged or exchanged result: of the file, and of its inputs.

A file holds ``orla-digest:`` and the SHA-256 of all its bytes, computed with zeros in place of
the digest. Its provenance holds the SHA-256 of every file that it was made from.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from orla import files
from orla.errors import OrlaError

KEY = "orla-digest"
BLANK = f"{KEY}:{64 * '0'}"
_MARK = re.compile(KEY.encode() + rb":([0-9a-f]{64})")


class ChangedInput(OrlaError):
    """A result that was made from another file than the one that stands at `path` now."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


@contextmanager
def write_sealed(
    path: str | Path, provenance: Mapping[str, Any], inputs: Iterable[str | Path]
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Give the block a name to write a result under, and its provenance with digests of `inputs`.

    The block writes both, and one `BLANK`, over which the file's digest is written.
    """
    with files.atomic(path) as partial:
        yield partial, {**provenance, "inputs": input_digests(path, inputs)}
        write_digest(partial)


def write_digest(path: Path) -> None:
    """Compute a file's digest and write it over the one `BLANK` in the file."""
    content = path.read_bytes()
    [mark] = _MARK.finditer(content)
    with path.open("r+b") as file:
        file.seek(mark.start(1))
        file.write(hashlib.sha256(content).hexdigest().encode())


def has_digest(path: Path) -> bool:
    """Whether a file holds a digest of itself, as results do; others are files of the user."""
    return _MARK.search(files.read_file(path)) is not None


@contextmanager
def open_result(path: str | Path) -> Iterator[bytes]:
    """A result's bytes; OrlaError where it is missing, has no digest, or differs from it.

    Any error of the block becomes an OrlaError.
    """
    path = Path(path)
    if not path.is_file():
        raise OrlaError(f"{path}: no such result; let snakemake make it: snakemake {path}")
    content = files.read_file(path)
    mark = _MARK.search(content)
    if mark is None:
        raise OrlaError(
            f"{path}: written by another program, or damaged (it has no digest of itself);"
            " delete it and run again"
        )
    sha = hashlib.sha256(content[: mark.start()] + BLANK.encode())
    sha.update(memoryview(content)[mark.end() :])
    if sha.hexdigest().encode() != mark[1]:
        raise OrlaError(
            f"{path}: differs from its own digest, so it is damaged or was changed;"
            " delete it and run again"
        )
    with files.reraise_in_one_line(
        path, "no result of this kind, or damaged", "delete it and run again"
    ):
        yield content


def input_digests(path: str | Path, made_from: Iterable[str | Path]) -> dict[str, str]:
    """Path of each file, relative to the folder of the result `path`, with its SHA-256."""
    folder = Path(path).parent
    return {
        Path(os.path.relpath(file, folder)).as_posix(): _file_digest(file) for file in made_from
    }


def check_provenance(
    path: str | Path, provenance: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Refuse a result of other entries than the expected ones, or of inputs that have changed.

    Entries stand at the top of its provenance or under ``keys``. An input that is gone passes.
    """
    actual = {**provenance, **provenance.get("keys", {})}
    for name, value in expected.items():
        refuse_other_value(path, name, actual.get(name), value)
    for relative, digest in provenance.get("inputs", {}).items():
        file = Path(os.path.normpath(Path(path).parent / relative))
        if file.is_file() and _file_digest(file) != digest:
            raise ChangedInput(
                f"{path}: made from another {file} than the one that stands there;"
                f" delete {path} and run again",
                file,
            )


def refuse_other_value(path: str | Path, name: str, actual: Any, expected: Any) -> None:
    """Refuse a result whose `name` is not the expected one."""
    if actual != expected:
        raise OrlaError(
            f"{path}: another result stands in its place ({name} is {actual!r}, not {expected!r});"
            " delete it and run again"
        )


def refuse_other_settings(path: str | Path, actual: Any, expected: Any, name: str = "") -> None:
    """Refuse a result one of whose nested settings is not the expected one."""
    for difference in differences(actual, expected, name):
        refuse_other_value(path, *difference)


def differences(actual: Any, expected: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Name and both values of each entry in which two nested settings differ."""
    if all(isinstance(side, Mapping | None) for side in (actual, expected)) and actual != expected:
        actual, expected = actual or {}, expected or {}
        for key in sorted({*actual, *expected}):
            path = f"{name}.{key}".removeprefix(".")
            yield from differences(actual.get(key), expected.get(key), path)
    elif actual != (value := json.loads(json.dumps(expected))):
        yield name, actual, value


def _file_digest(file: str | Path) -> str:
    """SHA-256 of a file, computed once as long as it stays as it is."""
    status = os.stat(file)
    return _cached_digest(os.path.abspath(file), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _cached_digest(file: str, mtime_ns: int, size: int) -> str:
    return files.sha256(file)
