"""Reasons not to rely on an estimate of one pair, each with its numbers and what to do about it.

No reason reads a held-out error of a learner. Source: docs/protocol.md, Guards.
"""

from collections.abc import Iterable
from typing import NamedTuple

LEAST_UPDATES = 20
LEAST_RATES = 3
LEAST_DENOMINATOR = 0.05
LEAST_STANDARD_ERRORS = 3.0


class RateSearch(NamedTuple):
    """How a learner was tried; the chosen rate, and whether it is on the edge of its grid."""

    learner: str
    updates: float
    rates: int
    rate: float
    edge: bool


def denominator_fails(mean: float, standard_error: float) -> bool:
    """Whether recovery has no meaning, because its denominator is too small, or there is none.

    The denominator is frozen minus reference error, with its standard error over seeds. Of one seed
    (NaN) the mean counts.
    """
    small = not mean >= LEAST_DENOMINATOR
    return bool(small or mean < LEAST_STANDARD_ERRORS * standard_error)


def reasons(searches: Iterable[RateSearch], reference_error: float, constant_error: float) -> str:
    """The reasons, joined by "; "; empty without any.

    Errors are those without drift (NaN if there is none), and held out of the best constant.
    """
    texts = []
    for s in searches:
        if s.updates < LEAST_UPDATES:
            texts.append(
                f"{s.learner} makes {s.updates:g} updates, fewer than {LEAST_UPDATES}: adapt "
                "for longer, or update more often"
            )
        if s.rates < LEAST_RATES:
            texts.append(
                f"{s.learner} is tried at {s.rates} rates, fewer than {LEAST_RATES}: give a "
                "longer grid"
            )
        elif s.edge:
            texts.append(
                f"{s.learner} has its rate, {s.rate:g}, on the edge of its grid: raise "
                "grid_growth, or give a longer grid"
            )
    if reference_error >= constant_error:
        texts.append(
            f"the reference error, {reference_error:.3g}, is no lower than that of the best "
            f"constant, {constant_error:.3g}: pretrain for longer"
        )
    return "; ".join(texts)
