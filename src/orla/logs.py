"""What a job says goes to the terminal and to its log."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import TextIOBase
from pathlib import Path
from typing import TextIO

from orla.errors import OrlaError, one_line


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
