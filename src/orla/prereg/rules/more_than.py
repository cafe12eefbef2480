"""The claims that a mean is above a number, and that it is below one."""

from __future__ import annotations

import numpy as np
from scipy import stats

from orla.prereg.region import Region
from orla.prereg.rules.base import MeanRule, seen_errors
from orla.statistics.equivalence import p_above


class MoreThan(MeanRule, name="more_than"):
    """The mean is above `value`; the opposite is shown by the one-sided test of the other side."""

    adapting = slice(0, 1)

    @property
    def region(self) -> Region:
        return Region(low=self.value, strict=True)

    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        distance = mean - self.value
        return p_above(distance, error, dof), p_above(-distance, error, dof)

    def shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        error, _, half = seen_errors(sd, n, alpha)
        return float(stats.norm.sf((self.value + half - gap) / error).mean())

    def refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        error, _, half = seen_errors(sd, n, alpha)
        return float(1 - stats.norm.sf((self.value - half - gap) / error).mean())

    def gaps(self, error: float) -> np.ndarray:
        return self.value + error * np.linspace(-4, 6, 11)


class LessThan(MoreThan, name="less_than"):
    """The mean is below `value`: the opposite of `more_than`."""

    adapting = slice(1, 2)

    @property
    def region(self) -> Region:
        return Region(high=self.value, strict=True)

    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        return super().tests(mean, error, dof)[::-1]

    def shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        return super().refuted(gap, sd, n, alpha)

    def refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        return super().shown(gap, sd, n, alpha)

    def gaps(self, error: float) -> np.ndarray:
        return super().gaps(-error)
