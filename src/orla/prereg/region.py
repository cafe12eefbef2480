"""Regions of the real line that a criterion asks an interval to lie in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.errors import OrlaError

KINDS = ("at_least", "at_most", "between", "outside")


@dataclass(frozen=True)
class Region:
    """A half-line, a segment, or the complement of one (`outside`).

    Bounds belong to the region unless `strict`.
    """

    low: float = -np.inf
    high: float = np.inf
    strict: bool = False
    outside: bool = False

    def contains(self, low: float, high: float) -> bool:
        """Whether the whole interval [low, high] lies in the region."""
        if self.outside:
            return high < self.low or low > self.high or self._touches(low, high)
        if self.strict:
            return self.low < low and high < self.high
        return self.low <= low and high <= self.high

    def excludes(self, low: float, high: float) -> bool:
        """Whether no point of the interval [low, high] lies in the region."""
        if self.outside:
            return Region(self.low, self.high, strict=not self.strict).contains(low, high)
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high

    def describe(self, unit: str = "") -> str:
        """The region in words, with a unit after the numbers."""
        unit = f" {unit}" if unit else ""
        if self.outside:
            return f"{'strictly ' * self.strict}outside {self.low:g} to {self.high:g}{unit}"
        if np.isinf(self.high):
            return f"{'above' if self.strict else 'at least'} {self.low:g}{unit}"
        if np.isinf(self.low):
            return f"{'below' if self.strict else 'at most'} {self.high:g}{unit}"
        return f"{'strictly ' * self.strict}between {self.low:g} and {self.high:g}{unit}"

    def _touches(self, low: float, high: float) -> bool:
        return not self.strict and (high <= self.low or low >= self.high)


def parse(document: Mapping[str, Any], name: str) -> Region:
    """Read a region such as ``{between: [-3, 3], strict: true}``.

    It has exactly one of `KINDS`, and optionally `strict`; `name` names it in an error.

    Raises:
        OrlaError: None or several kinds, or bounds out of order.
    """
    kinds = [kind for kind in KINDS if kind in document]
    if len(kinds) != 1:
        raise OrlaError(f"{name}: a region has exactly one of {', '.join(KINDS)}, not {len(kinds)}")
    strict = bool(document.get("strict", False))
    value = document[kinds[0]]
    if kinds[0] == "at_least":
        return Region(low=float(value), strict=strict)
    if kinds[0] == "at_most":
        return Region(high=float(value), strict=strict)
    low, high = map(float, value)
    if not low < high:
        raise OrlaError(f"{name}: {kinds[0]} [{low:g}, {high:g}] must name the smaller bound first")
    return Region(low, high, strict, outside=kinds[0] == "outside")
