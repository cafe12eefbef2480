"""The error that users see, how a program ends on it, and the logs of jobs."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from io import FileIO, TextIOBase
from pathlib import Path
from typing import TextIO


class OrlaError(Exception):
    """A mistake that the user can correct: one line with the file, the variable and what to do."""


def describe_error(error: Exception, file: str) -> str:
    """An exception in one line: class, message, and the last line of `file` in its traceback."""
    words = " ".join(str(error).split())
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return f"{type(error).__name__}: {words}" + (f", in line {lines[-1]}" if lines else "")


@contextmanager
def prefix_errors(place: str | Path) -> Iterator[None]:
    """Put `place`, such as a file, before the message of an `OrlaError` of the block."""
    try:
        yield
    except OrlaError as error:
        raise OrlaError(f"{place}: {error}") from error


@contextmanager
def exit_in_one_line() -> Iterator[None]:
    """End the program with ``error: ...`` and status 1 on an `OrlaError`; others pass through."""
    try:
        yield
    except OrlaError as error:
        print("error: " + " ".join(str(error).split()), file=sys.stderr, flush=True)
        raise SystemExit(1) from None


class _Tee(TextIOBase):
    """Writes to a stream and a log; not a terminal, so that progress is shown as lines.

    What cannot be written, as on a full disk, is lost: it is no reason to fail, or to fail again.
    """

    def __init__(self, stream: TextIO, log: FileIO) -> None:
        self._stream, self._log = stream, log

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._log.write(text.encode(errors="replace"))
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
        return len(text)


@contextmanager
def log_stderr(path: str | Path) -> Iterator[None]:
    """Copy stderr to the log `path`, with the error that ends the block, if any: with status 1,
    or 130 where the job was interrupted.
    """
    with exit_in_one_line():
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            log = FileIO(path, "w")
        except OSError as error:
            raise OrlaError(
                f"{path}: the log cannot be written ({error.strerror}); free some space, or mend "
                "the permissions, and run again"
            ) from error
    with log, redirect_stderr(_Tee(sys.stderr, log)), exit_in_one_line():
        try:
            yield
        except OrlaError:
            raise
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        except Exception:
            traceback.print_exc()
            raise SystemExit(1) from None
