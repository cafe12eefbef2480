"""The base class of rules: tests of a claim about a mean and of its opposite, and their power."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from orla.prereg.region import Region

_QUANTILES = 2000
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


@dataclass(frozen=True)
class Ps:
    """p values of a claim and of its opposite, and both as corrected in a family."""

    claim: float = 1.0
    opposite: float = 1.0
    claim_holm: float = 1.0
    opposite_holm: float = 1.0


@dataclass(frozen=True)
class Rule(ABC):
    """What is claimed of an estimate: `value` gives the claim's numbers."""

    value: Any

    @property
    @abstractmethod
    def region(self) -> Region:
        """Where the estimate lies if the claim is true."""

    @abstractmethod
    def p_values(self, estimate: Estimate) -> tuple[float, float]:
        """p of the claim and p of its opposite."""

    @abstractmethod
    def words(self, ps: Ps, scale: str, corrected: bool) -> str:
        """What was shown of an estimate, as the end of a sentence about it."""


class MeanRule(Rule):
    """A claim about a mean, decided by t tests; `value` stands after its name in `claim`.

    A subclass declares its name: ``class MoreThan(MeanRule, name="more_than")``. `schema` is the
    JSON schema of its value, and `adapting` says which of two learners that are compared must be
    shown to adapt. Where the value is a `margin`, a wide one needs a reason.
    """

    name: ClassVar[str] = ""
    schema: ClassVar[Mapping[str, Any]] = {"type": "number"}
    adapting: ClassVar[slice] = slice(0, 2)
    margin: ClassVar[bool] = False

    def __init_subclass__(cls, name: str) -> None:
        super().__init_subclass__()
        cls.name = name
        _RULES[name] = cls

    @abstractmethod
    def tests(self, mean: float, error: float, dof: float) -> tuple[float, float]:
        """p of the claim and p of its opposite, of an estimate with its standard error and degrees
        of freedom; all numbers are finite. Without any error p is 0 or 1.
        """

    @abstractmethod
    def shown(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim is shown, by tests at level alpha over `n` units (2 or more)
        of this true mean and standard deviation.
        """

    @abstractmethod
    def refuted(self, gap: float, sd: float, n: int, alpha: float) -> float:
        """Probability that the claim's opposite is shown; arguments as in `shown`."""

    @abstractmethod
    def gaps(self, error: float) -> np.ndarray:
        """True means worth a row in a table of power, where `error` is the standard error."""

    def p_values(self, estimate: Estimate) -> tuple[float, float]:
        """`tests` of an estimate; both are 1 where it is not finite or has no error."""
        mean, error, dof = estimate.mean, estimate.standard_error, estimate.dof
        if not (np.isfinite([mean, error, dof]).all() and dof >= 1 and error >= 0):
            return 1.0, 1.0
        return self.tests(mean, error, dof)

    def words(self, ps: Ps, scale: str, corrected: bool) -> str:
        claim = _p_words(ps.claim, ps.claim_holm, corrected)
        opposite = _p_words(ps.opposite, ps.opposite_holm, corrected)
        return (
            f"that it is {self.region.describe(scale)} has {claim}, that it is not has {opposite}"
        )


def rules() -> dict[str, type[MeanRule]]:
    """Every rule by name: those of this package, and those of plug-ins that were imported."""
    package = importlib.import_module("orla.prereg.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(_RULES)


def seen_errors(sd: float, n: int, alpha: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The standard error of a mean of `n` units, its estimates, and half the interval of each.

    The estimates are quantiles: the variance estimate is chi-square, and the mean over these is a
    probability.
    """
    error = float(sd / np.sqrt(n))
    errors = _estimated(error, n - 1)
    return error, errors, stats.t.ppf(1 - alpha, n - 1) * errors


@lru_cache
def _estimated(error: float, dof: int) -> np.ndarray:
    at = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return error * np.sqrt(stats.chi2.ppf(at, dof) / dof)


def _p_words(p: float, holm: float, corrected: bool) -> str:
    first, second = (f"< {_LEAST_P:g}" if q < _LEAST_P else f"= {q:.2g}" for q in (p, holm))
    return f"p {first} (Holm {second})" if corrected else f"p {first}"
