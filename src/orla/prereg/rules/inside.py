"""The claim of registrations of version 1: an interval lies inside a region."""

from __future__ import annotations

from orla.prereg.region import Region
from orla.prereg.rules.base import Estimate, Ps, Rule


class Inside(Rule):
    """The interval lies inside the region `value`, by a comparison of numbers without a p value.

    It is false where the interval lies wholly outside, and open where it lies astride a bound.
    """

    @property
    def region(self) -> Region:
        return self.value

    def p_values(self, estimate: Estimate) -> tuple[float, float]:
        """0 for what is so and 1 for what is not."""
        interval = estimate.low, estimate.high
        return float(not self.value.contains(*interval)), float(not self.value.excludes(*interval))

    def words(self, ps: Ps, scale: str, corrected: bool) -> str:
        place = "partly inside" if ps.opposite else "wholly outside"
        place = place if ps.claim else "inside"
        return f"{place} the region {self.value.describe(scale)}"
