"""The claim that a mean is below a number."""

from __future__ import annotations

import numpy as np

from orla.prereg.region import Region
from orla.prereg.rules.base import MeanRule
from orla.prereg.rules.more_than import MoreThan


class LessThan(MeanRule, name="less_than"):
    """The mean is below `value`: the opposite of `more_than`."""

    adapting = slice(1, 2)

    @property
    def region(self) -> Region:
        return Region(high=self.value, strict=True)

    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        return MoreThan(self.value).tests(mean, error, dof)[::-1]

    def shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        return MoreThan(self.value).refuted(gap, sd, n, alpha)

    def refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        return MoreThan(self.value).shown(gap, sd, n, alpha)

    def gaps(self, error: float) -> np.ndarray:
        return self.value - error * np.linspace(-4, 6, 11)
