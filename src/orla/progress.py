"""A progress bar for jobs that take a while."""

import io
import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm

_DELAY_S = 10.0
_LINE = "{desc}: {n_fmt} of {total_fmt}, {elapsed} gone, {remaining} left"


class _Lines(tqdm):
    """Writes each state as a line of text, without cursor movements."""

    def display(self, *_: Any, **__: Any) -> None:
        print(self, file=sys.stderr, flush=True)


def bar(iterable_or_total: Iterable[Any] | int, description: str, unit: str = "it") -> tqdm:
    """The progress of a job on stderr, from its 10th second on.

    It is an iterator and a context manager. Given a number of steps in place of an iterable, call
    ``.update(n)``. Where stderr is no terminal, a line every 10 s is written instead of a bar.
    """
    total = iterable_or_total if isinstance(iterable_or_total, int) else None
    terminal = sys.stderr.isatty()
    return (tqdm if terminal else _Lines)(
        None if total is not None else iterable_or_total,
        total=total,
        desc=description,
        unit=unit,
        unit_scale=unit == "B",
        delay=_DELAY_S,
        mininterval=0.5 if terminal else _DELAY_S,
        maxinterval=_DELAY_S,
        file=sys.stderr if terminal else io.StringIO(),
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
