"""The one rule that says whether a number of ours and the paper's agree."""

from __future__ import annotations

import math

from orla.reports.numbers import MISSING, is_missing

AGREES, DIFFERS, WIDE, NOT_COMPARABLE = "agrees", "differs", "too wide", MISSING
# Share of the paper's number that counts as no difference: most are printed with two digits.
SAME = 0.1
# A longer half interval than this share of the paper's number settles nothing.
TELLS = 0.5
COMPARED = (
    "Agrees: the paper's number lies in our 95 % interval, or the intervals overlap, or both differ"
    " by a tenth of the paper's number at most. Too wide: it would agree, but half of our"
    " interval is longer than half of the paper's number."
)

ADAPTS = (
    "Where the paper only says “adapts”, ours is by how much the error differs from the frozen"
    " network's: it agrees where our interval lies below 0, and differs where it lies above."
)


def compared(
    value: float, low: float, high: float, theirs: float | None, spread: float | None
) -> str:
    """`AGREES`, `DIFFERS`, `WIDE` or `NOT_COMPARABLE`; see `COMPARED`.

    Args:
        value, low, high: our mean and its interval; ends may be missing.
        theirs: the paper's number, None where it has only words.
        spread: the paper's half interval, None where it prints none.
    """
    if is_missing(theirs) or is_missing(value):
        return NOT_COMPARABLE
    low, high = (value if is_missing(end) else end for end in (low, high))
    reach = 0.0 if is_missing(spread) else spread
    overlap = low <= theirs + reach and theirs - reach <= high
    near = math.isclose(value, theirs, rel_tol=0, abs_tol=SAME * abs(theirs))
    if not (overlap or near):
        return DIFFERS
    return WIDE if (high - low) / 2 > TELLS * abs(theirs) else AGREES


def adapts(change: float, low: float, high: float) -> str:
    """`AGREES`, `DIFFERS`, `WIDE` or `NOT_COMPARABLE` with the paper's “adapts”; see `ADAPTS`.

    Args:
        change, low, high: our mean change of the error and its interval; ends may be missing.
    """
    if is_missing(change):
        return NOT_COMPARABLE
    low, high = (change if is_missing(end) else end for end in (low, high))
    return AGREES if high < 0 else DIFFERS if low > 0 else WIDE
