"""Rules: what a registration may claim of an estimate, how it is tested, and with what power."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import scipy  # its rooms load when they are first used

from orla.prereg.region import Region
from orla.statistics.equivalence import p_above

_LEAST_P = 1e-4
_RULES: dict[str, type[MeanRule]] = {}
Ends = tuple[Any, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, degrees of freedom and interval."""

    mean: float = np.nan
    standard_error: float = np.nan
    dof: float = np.nan
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class Ps:
    """p values of a claim and of its opposite, and both as corrected in a family."""

    claim: float
    opposite: float
    claim_holm: float
    opposite_holm: float


@dataclass(frozen=True)
class Inside:
    """The claim of version 1: an interval lies inside a region, compared without a p value.

    It is false where the interval lies wholly outside, and open where it lies astride a bound.
    """

    region: Region

    def p_values(self, estimate: Estimate) -> tuple[float, float]:
        """p of the claim and p of its opposite: each 0 where it is shown, else 1."""
        ends = estimate.low, estimate.high
        return float(not self.region.contains(*ends)), float(not self.region.excludes(*ends))

    def words(self, ps: Ps, scale: str, corrected: bool) -> str:
        """What was shown of an estimate, as the end of a sentence about it."""
        place = "partly inside" if ps.opposite else "wholly outside"
        return f"{place if ps.claim else 'inside'} the region {self.region.describe(scale)}"


@dataclass(frozen=True)
class MeanRule(ABC):
    """A claim about a mean, decided by t tests; `value` stands after its name in `claim`.

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
    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        """p of the claim and p of its opposite, of an estimate with its error.

        `error` is its standard error, `dof` that error's degrees of freedom; all numbers are
        finite. Without any error p is 0 or 1.
        """

    @abstractmethod
    def between(self, error: float, dof: int, alpha: float) -> Ends:
        """The two estimates between which the claim is shown at level alpha.

        They are numbers, or arrays over the `estimated_errors` of a standard error.
        """

    @abstractmethod
    def beyond(self, error: float, dof: int, alpha: float) -> Ends:
        """The two estimates beyond which its opposite is shown; as in `between`."""

    @abstractmethod
    def gaps(self, error: float) -> np.ndarray:
        """True means worth a row in a table of power, where `error` is the standard error."""

    def probability_shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim is shown over `n` units (2 or more) of this mean and sd."""
        return _probability_between(self.between, gap, sd, n, alpha)

    def probability_refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim's opposite is shown; arguments as in `shown`."""
        return 1 - _probability_between(self.beyond, gap, sd, n, alpha)

    def p_values(self, estimate: Estimate) -> tuple[float, float]:
        """p of the claim and p of its opposite; both 1 without a finite estimate and its error."""
        mean, error, dof = estimate.mean, estimate.standard_error, estimate.dof
        if not (np.isfinite([mean, error, dof]).all() and dof >= 1 and error >= 0):
            return 1.0, 1.0
        return self.tests(mean, error, dof)

    def words(self, ps: Ps, scale: str, corrected: bool) -> str:
        """What was shown of an estimate, as the end of a sentence about it."""
        numbers = (ps.claim, ps.claim_holm, ps.opposite, ps.opposite_holm)
        p = [f"< {_LEAST_P:g}" if q < _LEAST_P else f"= {q:.2g}" for q in numbers]
        claim, opposite = (
            f"p {plain} (Holm {holm})" if corrected else f"p {plain}"
            for plain, holm in (p[:2], p[2:])
        )
        what = self.region.describe(scale)
        return f"that it is {what} has {claim}, that it is not has {opposite}"


def rules_by_name() -> dict[str, type[MeanRule]]:
    """Every rule by name: those here, and those of plug-ins that were imported."""
    return dict(_RULES)


@lru_cache
def estimated_errors(error: float, dof: int) -> np.ndarray:
    """Quantiles of the estimate of a standard error: that of a variance is chi-square."""
    at = (np.arange(2000) + 0.5) / 2000
    return error * np.sqrt(scipy.stats.chi2.ppf(at, dof) / dof)


def interval_half_widths(error: float, dof: int, alpha: float) -> np.ndarray:
    """Half widths of the interval at 1 - 2 alpha, at each of the `estimated_errors`."""
    return scipy.stats.t.ppf(1 - alpha, dof) * estimated_errors(error, dof)


def _probability_between(
    ends: Callable[..., Ends], gap: float, sd: float, n: int, alpha: float
) -> float:
    """Probability that an estimate lies between ends: the mean over quantiles of its error."""
    error = float(sd / np.sqrt(n))
    low, high = (scipy.stats.norm.sf((end - gap) / error) for end in ends(error, n - 1, alpha))
    return float(np.clip(low - high, 0, 1).mean())


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

    def between(self, error: float, dof: int, alpha: float) -> Ends:
        high = self.value - interval_half_widths(error, dof, alpha)
        return -high, high

    def beyond(self, error: float, dof: int, alpha: float) -> Ends:
        high = _least_estimate_beyond(self.value, error, dof, alpha)
        return -high, high

    def gaps(self, error: float) -> np.ndarray:
        return np.linspace(0, 3 * self.value, 13)


@lru_cache
def _least_estimate_beyond(margin: float, error: float, dof: int, alpha: float) -> np.ndarray:
    """Least |estimate| at each estimated error at which a mean beyond the margin is shown."""
    errors = estimated_errors(error, dof)
    low, high = (margin + scipy.stats.t.ppf(1 - a, dof) * errors for a in (alpha, alpha / 2))
    for _ in range(40):
        middle = (low + high) / 2
        p = scipy.stats.t.sf((middle - margin) / errors, dof) + scipy.stats.t.sf(
            (middle + margin) / errors, dof
        )
        low, high = np.where(p > alpha, middle, low), np.where(p > alpha, high, middle)
    return high


class MoreThan(MeanRule, name="more_than"):
    """The mean is above `value`; the opposite is shown by the one-sided test of the other side."""

    adapting = slice(0, 1)

    @property
    def region(self) -> Region:
        return Region(low=self.value, strict=True)

    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        distance = mean - self.value
        return p_above(distance, error, dof), p_above(-distance, error, dof)

    def between(self, error: float, dof: int, alpha: float) -> Ends:
        return self.value + interval_half_widths(error, dof, alpha), np.inf

    def beyond(self, error: float, dof: int, alpha: float) -> Ends:
        return self.value - interval_half_widths(error, dof, alpha), np.inf

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

    def between(self, error: float, dof: int, alpha: float) -> Ends:
        return -np.inf, super().beyond(error, dof, alpha)[0]

    def beyond(self, error: float, dof: int, alpha: float) -> Ends:
        return -np.inf, super().between(error, dof, alpha)[0]

    def gaps(self, error: float) -> np.ndarray:
        return super().gaps(-error)
