"""Processes that do not outlive the one that started them. Imports no library."""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent(number: signal.Signals) -> None:
    """On Linux send this process a signal when its parent ends, however that comes."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, number)


def treat_as_interrupt(*numbers: signal.Signals) -> None:
    """Let signals end this process as Ctrl-C does, by a KeyboardInterrupt."""
    for number in numbers:
        signal.signal(number, signal.default_int_handler)
