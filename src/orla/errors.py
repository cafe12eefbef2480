"""The one error a user is meant to see, and how a program ends on it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
