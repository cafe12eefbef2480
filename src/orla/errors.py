"""The one error a user is meant to see, how a program ends on it, and what a job logs."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import TextIOBase
from pathlib import Path
from typing import TextIO


class OrlaError(Exception):
    """Something the user can mend: one line that names the file, the variable and the mend."""


@contextmanager
def one_line() -> Iterator[None]:
    """End the program with ``error: ...`` on stderr and exit status 1 on an `OrlaError`.

    Every other exception is a defect of ours and keeps its traceback.

    Raises:
        SystemExit: Status 1, in place of an `OrlaError` raised inside the block.
    """
    try:
        yield
    except OrlaError as error:
        print("error: " + " ".join(str(error).split()), file=sys.stderr, flush=True)
        raise SystemExit(1) from None


class _Both(TextIOBase):
    """Writes to two streams; it is no terminal, so that progress comes as lines."""

    def __init__(self, first: TextIO, second: TextIO) -> None:
        self._streams = (first, second)

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
            stream.flush()
        return len(text)


@contextmanager
def logged(path: str | Path) -> Iterator[None]:
    """Write stderr to `path` besides, and what ends the block.

    Args:
        path: The log; an older one is replaced.

    Raises:
        SystemExit: Status 1, in place of any exception raised inside the block.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        path.open("w", encoding="utf-8") as log,
        redirect_stderr(_Both(sys.stderr, log)),
        one_line(),
    ):
        try:
            yield
        except OrlaError:
            raise
        except Exception:
            traceback.print_exc()
            raise SystemExit(1) from None
