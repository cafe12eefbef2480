"""The horizons that a part which is adapted to allows."""

from __future__ import annotations

from collections.abc import Sequence

from orla.errors import OrlaError


def require_horizons(horizons: Sequence[int], window: int, steps: int, split: str) -> None:
    """Refuse a horizon that is no multiple of the window, or longer than the part adapted to.

    Raises:
        OrlaError: The horizon, and those that there may be.
    """
    for horizon in horizons:
        if horizon % window or not 2 * window <= horizon <= steps:
            raise OrlaError(
                f"horizons.steps has {horizon}; choose multiples of the window ({window}) from two"
                f" windows, one to learn on and one to choose the rate by, up to the {steps}"
                f" steps that are adapted to ({split})"
            )
