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
            return Region(self.low, self.high, strict=not self.strict).excludes(low, high)
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


def parse(document: Mapping[str, Any], name: str) -> Region:
    """Read a region such as ``{between: [-3, 3], strict: true}``; `name` names it in an error.

    Raises:
        OrlaError: None or several of `KINDS`, or bounds out of order.
    """
    kinds = [kind for kind in KINDS if kind in document]
    if len(kinds) != 1:
        raise OrlaError(f"{name}: a region has exactly one of {', '.join(KINDS)}, not {len(kinds)}")
    [kind], strict = kinds, bool(document.get("strict", False))
    if kind == "at_least":
        return Region(low=float(document[kind]), strict=strict)
    if kind == "at_most":
        return Region(high=float(document[kind]), strict=strict)
    low, high = map(float, document[kind])
    if not low < high:
        raise OrlaError(f"{name}: {kind} [{low:g}, {high:g}] must name the smaller bound first")
    return Region(low, high, strict, outside=kind == "outside")
