"""Rules: what a registration may claim of an estimate, how it is tested, and with what power."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy  # its rooms load when they are first used

from orla.prereg.region import Region
from orla.statistics.means import p_above

_LEAST_P = 1e-4
_RULES: dict[str, type[MeanRule]] = {}


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, degrees of freedom and interval."""

    mean: float = np.nan
    standard_error: float = np.nan
    dof: float = np.nan
    low: float = np.nan
    high: float = np.nan


class Ps(NamedTuple):
    """p values of a claim and of its opposite, and both as corrected in a family."""

    claim: float
    opposite: float
    claim_holm: float
    opposite_holm: float


@dataclass(frozen=True)
class MeanRule(ABC):
    """A claim that a mean lies in a region; `value` stands after its name in `claim`.

    Its tests and its power follow from the region: an interval, or a half-line, without its bounds.
    `schema` is the JSON schema of its value, and `adapting` says which of two learners that are
    compared must be shown to adapt. Where the value is a `margin`, a wide one needs a reason.
    """

    value: Any

    name: ClassVar[str] = ""
    schema: ClassVar[Mapping[str, Any]] = {"type": "number"}
    adapting: ClassVar[slice] = slice(0, 2)
    margin: ClassVar[bool] = False

    def __init_subclass__(cls, name: str) -> None:
        super().__init_subclass__()
        cls.name = name
        _RULES[name] = cls

    @property
    @abstractmethod
    def region(self) -> Region:
        """Where the mean lies if the claim is true."""

    @abstractmethod
    def gaps(self, standard_error: float) -> np.ndarray:
        """True means worth a row in a table of power."""

    def mean_p_values(self, mean: float, standard_error: float, dof: float) -> tuple[float, float]:
        """p of the claim and p of its opposite, of an estimate with its error.

        `dof` are degrees of freedom of its standard error; all numbers are finite. Without any
        error p is 0 or 1. The claim is shown by a one-sided test at each bound (Schuirmann 1987).
        The p of its opposite is the probability, at a true mean on the bound, of an estimate as far
        outside on either side (Hodges and Lehmann 1954).
        """
        above, below = mean - self.region.low, self.region.high - mean
        opposite = p_above(max(-above, -below), standard_error, dof)
        if standard_error > 0:
            opposite = min(1.0, opposite + p_above(max(above, below), standard_error, dof))
        claim = max(p_above(distance, standard_error, dof) for distance in (above, below))
        return claim, opposite

    def probability_shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim is shown over `n` units (2 or more) of this mean and sd."""
        standard_error = float(sd / np.sqrt(n))
        half = _half_widths(standard_error, n - 1, alpha)
        return _probability_between(
            self.region.low + half, self.region.high - half, gap, standard_error
        )

    def probability_refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim's opposite is shown; arguments as in `probability_shown`."""
        low, high, standard_error = self.region.low, self.region.high, float(sd / np.sqrt(n))
        if np.isinf(high - low):
            away = _half_widths(standard_error, n - 1, alpha)
        else:
            away = _least_distance_beyond((high - low) / 2, standard_error, n - 1, alpha)
            low = high = (low + high) / 2
        return 1 - _probability_between(low - away, high + away, gap, standard_error)

    def claim_and_opposite_p(self, estimate: Estimate) -> tuple[float, float]:
        """p of the claim and p of its opposite; both 1 without a finite estimate and its error."""
        numbers = estimate.mean, estimate.standard_error, estimate.dof
        is_finite = np.isfinite(numbers).all() and estimate.dof >= 1
        if not (is_finite and estimate.standard_error >= 0):
            return 1.0, 1.0
        return self.mean_p_values(*numbers)

    def words(self, ps: Ps, scale: str, in_family: bool) -> str:
        """What was shown of an estimate, as the end of a sentence about it."""
        claim, opposite, claim_holm, opposite_holm = (
            f"< {_LEAST_P:g}" if p < _LEAST_P else f"= {p:.2g}" for p in ps
        )
        if in_family:
            claim += f" (Holm {claim_holm})"
            opposite += f" (Holm {opposite_holm})"
        what = self.region.describe(scale)
        return f"that it is {what} has p {claim}, that it is not has p {opposite}"


def rules_by_name() -> dict[str, type[MeanRule]]:
    """Every rule by name: those here, and those of plug-ins that were imported."""
    return dict(_RULES)


@lru_cache
def _estimated_errors(standard_error: float, dof: int) -> np.ndarray:
    """Quantiles of the estimate of a standard error: that of a variance is chi-square."""
    at = (np.arange(2000) + 0.5) / 2000
    return standard_error * np.sqrt(scipy.stats.chi2.ppf(at, dof) / dof)


def _half_widths(standard_error: float, dof: int, alpha: float) -> np.ndarray:
    """Half widths of the interval at 1 - 2 alpha, at each of the `_estimated_errors`."""
    return scipy.stats.t.ppf(1 - alpha, dof) * _estimated_errors(standard_error, dof)


def _probability_between(
    low: np.ndarray, high: np.ndarray, gap: float, standard_error: float
) -> float:
    """Probability that an estimate lies between ends: the mean over quantiles of its error."""
    above_low, above_high = (
        scipy.stats.norm.sf((end - gap) / standard_error) for end in (low, high)
    )
    return float(np.clip(above_low - above_high, 0, 1).mean())


@lru_cache
def _least_distance_beyond(
    margin: float, standard_error: float, dof: int, alpha: float
) -> np.ndarray:
    """Least distance from the centre that shows a mean beyond the margin, by estimated error."""
    errors = _estimated_errors(standard_error, dof)
    low, high = (margin + scipy.stats.t.ppf(1 - a, dof) * errors for a in (alpha, alpha / 2))
    for _ in range(40):
        middle = (low + high) / 2
        near, far = ((middle + side) / errors for side in (-margin, margin))
        p = scipy.stats.t.sf(near, dof) + scipy.stats.t.sf(far, dof)
        low, high = np.where(p > alpha, middle, low), np.where(p > alpha, high, middle)
    return high


class EquivalentWithin(MeanRule, name="equivalent_within"):
    """The mean lies less than `value` from zero."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "number", "exclusiveMinimum": 0}
    margin = True

    @property
    def region(self) -> Region:
        return Region(-self.value, self.value, strict=True)

    def gaps(self, standard_error: float) -> np.ndarray:
        return np.linspace(0, 3 * self.value, 13)


class MoreThan(MeanRule, name="more_than"):
    """The mean is above `value`."""

    adapting = slice(0, 1)

    @property
    def region(self) -> Region:
        return Region(low=self.value, strict=True)

    def gaps(self, standard_error: float) -> np.ndarray:
        return self.value + standard_error * np.linspace(-4, 6, 11)


class LessThan(MeanRule, name="less_than"):
    """The mean is below `value`: the opposite of `more_than`."""

    adapting = slice(1, 2)

    @property
    def region(self) -> Region:
        return Region(high=self.value, strict=True)

    def gaps(self, standard_error: float) -> np.ndarray:
        return self.value - standard_error * np.linspace(-4, 6, 11)
