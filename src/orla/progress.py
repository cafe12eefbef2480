"""A progress bar for jobs that take a while."""

import io
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from tqdm import tqdm

_DELAY_S = 10.0
_LINE = "{desc}: {n_fmt} of {total_fmt}, {elapsed} gone, {remaining} left"


class _Lines(io.TextIOBase):
    """Writes each state of a tqdm bar as a line of text, without cursor movements."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        line = text.strip()
        if line:
            self._stream.write(line + "\n")
            self._stream.flush()
        return len(text)


def bar(iterable_or_total: Iterable[Any] | int, description: str, unit: str = "it") -> tqdm:
    """The progress of a job on stderr, from its 10th second on: an iterator and a context
    manager.

    Given a number of steps in place of an iterable, call ``.update(n)``. Where stderr is no
    terminal, a line every 10 s is written instead of a bar.
    """
    total = iterable_or_total if isinstance(iterable_or_total, int) else None
    terminal = sys.stderr.isatty()
    return tqdm(
        None if total is not None else iterable_or_total,
        total=total,
        desc=description,
        unit=unit,
        unit_scale=unit == "B",
        delay=_DELAY_S,
        mininterval=0.5 if terminal else _DELAY_S,
        maxinterval=_DELAY_S,
        file=sys.stderr if terminal else _Lines(sys.stderr),
        bar_format=None if terminal else _LINE,
        dynamic_ncols=terminal,
        leave=not terminal,
    )


def advance(bar: tqdm, steps: int) -> None:
    """Count steps of a job; time is measured from the first count on, past any compiling."""
    first = not bar.n
    if first:
        bar.unpause()
    bar.update(steps)
    if first:
        bar.initial = bar.last_print_n = bar.n
