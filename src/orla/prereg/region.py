"""Regions of the real line: where a claim says a mean lies, and a check asks values to lie."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orla.errors import OrlaError

KINDS = ("at_least", "at_most", "between", "outside")


@dataclass(frozen=True)
class Region:
    """A half-line, a segment, or the complement of one (`outside`); `strict`: without bounds."""

    low: float = -np.inf
    high: float = np.inf
    strict: bool = False
    outside: bool = False

    def contains(self, low: float, high: float) -> bool:
        """Whether the whole interval [low, high] lies in the region."""
        before = operator.lt if self.strict else operator.le
        if self.outside:
            return bool(before(high, self.low) or before(self.high, low))
        return bool(before(self.low, low) and before(high, self.high))

    def describe(self, unit: str = "") -> str:
        """The region in words, with a unit after the numbers."""
        unit, strictly = f" {unit}" if unit else "", "strictly " * self.strict
        if self.outside:
            return f"{strictly}outside {self.low:g} to {self.high:g}{unit}"
        if np.isinf(self.high):
            return f"{'above' if self.strict else 'at least'} {self.low:g}{unit}"
        if np.isinf(self.low):
            return f"{'below' if self.strict else 'at most'} {self.high:g}{unit}"
        return f"{strictly}between {self.low:g} and {self.high:g}{unit}"


def parse_region(document: Mapping[str, Any], name: str) -> Region:
    """Read a region such as ``{between: [-3, 3], strict: true}``; `name` is for an OrlaError."""
    kinds = [kind for kind in KINDS if kind in document]
    if len(kinds) != 1:
        raise OrlaError(f"{name}: a region has exactly one of {', '.join(KINDS)}, not {len(kinds)}")
    [kind], value = kinds, document[kinds[0]]
    low, high = {"at_least": (value, np.inf), "at_most": (-np.inf, value)}.get(kind, value)
    if not low < high:
        raise OrlaError(f"{name}: {kind} [{low:g}, {high:g}] must name the smaller bound first")
    return Region(float(low), float(high), bool(document.get("strict", False)), kind == "outside")
