"""The claim that a mean lies within a margin of zero."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from orla.prereg.region import Region
from orla.prereg.rules.base import MeanRule, seen_errors
from orla.statistics.equivalence import p_above


class EquivalentWithin(MeanRule, name="equivalent_within"):
    """The mean lies less than `value` from zero.

    It is shown by two one-sided tests (Schuirmann 1987). Its opposite is that the mean lies beyond
    a margin; its p is the probability, at a true mean on the margin, of an estimate as far from
    zero on either side (Hodges and Lehmann 1954).
    """

    schema: ClassVar[Mapping[str, Any]] = {"type": "number", "exclusiveMinimum": 0}

    margin = True

    @property
    def region(self) -> Region:
        return Region(-self.value, self.value, strict=True)

    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        margin = self.value
        within = max(p_above(mean + margin, error, dof), p_above(margin - mean, error, dof))
        beyond = p_above(abs(mean) - margin, error, dof)
        if error > 0:
            beyond = min(1.0, beyond + p_above(abs(mean) + margin, error, dof))
        return within, beyond

    def shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        error, _, half = seen_errors(sd, n, alpha)
        above, beyond = (
            stats.norm.sf((bound - gap) / error) for bound in (half - self.value, self.value - half)
        )
        return float(np.clip(above - beyond, 0, 1).mean())

    def refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        bound = _least_beyond(self.value, sd, n, alpha)
        above, below = (stats.norm.sf((b - gap) / (sd / np.sqrt(n))) for b in (bound, -bound))
        return float((above + 1 - below).mean())

    def gaps(self, error: float) -> np.ndarray:
        return np.linspace(0, 3 * self.value, 13)


@lru_cache
def _least_beyond(margin: float, sd: float, n: int, alpha: float) -> np.ndarray:
    """Least |estimate| at each estimated error at which a mean beyond the margin is shown."""
    _, errors, half = seen_errors(sd, n, alpha)
    low, high = margin + half, margin + stats.t.ppf(1 - alpha / 2, n - 1) * errors
    for _ in range(40):
        middle = (low + high) / 2
        p = stats.t.sf((middle - margin) / errors, n - 1)
        p += stats.t.sf((middle + margin) / errors, n - 1)
        low, high = np.where(p > alpha, middle, low), np.where(p > alpha, high, middle)
    return high
