"""Comparison with the paper: our means beside its numbers, and the one rule that judges both."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.numbers import MISSING, Number, is_missing, number, or_default, sample_size
from orla.reports.study import HIDDEN, StudyFacts
from orla.reports.words import NOT_RUN
from orla.statistics.means import moments
from orla.study.keys import KEYS

AGREES, DIFFERS, WIDE, NOT_COMPARABLE = "agrees", "differs", "too wide", "not comparable"
# Where one of both numbers is not there.
NO_ANSWER = MISSING
# Share of the paper's number that counts as no difference: most are printed with two digits.
TOLERANCE = 0.1
# A longer half interval than this share of the paper's number settles nothing.
MOST_HALF_WIDTH = 0.5
RULE = """Agrees: the paper's number lies in our 95 % interval, or the intervals overlap, or
both differ by a tenth of the paper's number at most. Too wide: it would agree, but half of our
interval is longer than half of the paper's number, and no seed is worse than frozen; else it
differs. Not comparable: both are not numbers of the same thing, for the reason given."""
WORSE = """Worse: the error is above that of the network that does not adapt, or the model diverged.
Where a seed is, the median over seeds stands in place of the mean."""
RECOVERY = "recovery_heldout_percent"
# The columns of a `Mean`, as far as it has them.
MEAN = ("mean", "t95_low", "t95_high", "n_seeds", "n_diverged")


class Mean(NamedTuple):
    """A mean over seeds and its 95 % t interval; NaN where every model diverged.

    worse, median: the seeds that are worse than the network that does not adapt, where that is
    known, and the median over all; infinite where it is of a model that diverged.
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    n: int = 0
    diverged: int = 0
    worse: int = 0
    median: float = np.nan


class Quote(NamedTuple):
    """A number of the paper with its interval or range; `reason`: why ours is not comparable."""

    value: Number
    low: Number = None
    high: Number = None
    place: str | None = None
    is_range: bool = False
    reason: str = ""

    def text(self, digits: int, signed: bool) -> str:
        """The number; a range by its two ends."""
        if self.is_range:
            return f"{number(self.low, digits)} to {number(self.high, digits)}"
        return number(self.value, digits, signed)


def mean_of(values: Iterable[float], diverged: int = 0) -> Mean:
    """Mean and interval of one value a seed; those that are not finite are left out."""
    moment = moments(np.fromiter(values, float))
    return Mean(moment.mean, *moment.interval(), moment.n, diverged)


def paper_value(row: Mapping[str, Any] | None, name: str, ending: str = "") -> Quote | None:
    """A number of a row of `Paper.table`, by its column; None where it has none.

    A row with ``NAME_from`` and ``NAME_to`` has a range; `ending` is what follows "low" and "high"
    in the columns of the interval, such as _percent.
    """
    row = row or {}
    place, reason = str(row.get("place", "")), row.get("not_comparable", "")
    if f"{name}_from" in row:
        low, high = row[f"{name}_from"], row[f"{name}_to"]
        return Quote((low + high) / 2, low, high, place, is_range=True, reason=reason)
    ends = (row.get(f"{end}{ending}") for end in ("low", "high"))
    return Quote(row[name], *ends, place, reason=reason) if name in row else None


def agreement(ours: Mean | None, paper: Number, spread: Number = None) -> str:
    """`AGREES`, `DIFFERS`, `WIDE` or `NO_ANSWER`; `spread` is the paper's half interval."""
    if ours is None or is_missing(paper) or is_missing(ours.value):
        return NO_ANSWER
    low, high = (or_default(end, ours.value) for end in (ours.low, ours.high))
    paper_half_width = or_default(spread, 0.0)
    overlap = low <= paper + paper_half_width and paper - paper_half_width <= high
    if not (overlap or math.isclose(ours.value, paper, rel_tol=0, abs_tol=TOLERANCE * abs(paper))):
        return DIFFERS
    is_narrow = (high - low) / 2 <= MOST_HALF_WIDTH * abs(paper)
    # Seeds worse than frozen make an interval too wide; a seed without others has none.
    if ours.worse and (not is_narrow or is_missing(ours.high)):
        return DIFFERS
    return AGREES if is_narrow else WIDE


def mean_text(ours: Mean | None, digits: int, signed: bool = False, without: str = MISSING) -> str:
    """Ours in one line: the mean ± half of its interval, or why there is none.

    Where seeds are worse than frozen: the median, and how many are.
    """
    if ours is None:
        return NOT_RUN
    if is_missing(ours.value):
        return "diverged" if ours.diverged else without
    if ours.worse:
        median = number(ours.median, digits, signed) if math.isfinite(ours.median) else "diverged"
        return f"median {median}\n{ours.worse} of {ours.n + ours.diverged} worse"
    half = "" if is_missing(ours.high) else f" ± {number((ours.high - ours.low) / 2, digits)}"
    return number(ours.value, digits, signed) + half


def seeds_text(ours: Mean | None) -> str:
    """The number of seeds, and how many diverged."""
    return MISSING if ours is None else sample_size(ours.n, ours.diverged)


def network_kind(study: StudyFacts, network: str) -> str:
    """The kind of a network, by its declaration; its name where it is no part."""
    return study.declaration("architecture", network).get("name", network)


def same_size(study: StudyFacts, network: str, row: Mapping[str, Any]) -> bool:
    """Whether a network has as many units as that of a row of the paper."""
    size = study.options("architecture", network).get("hidden", HIDDEN)
    return size == row.get("hidden", HIDDEN)


def same_network(study: StudyFacts, network: str, row: Mapping[str, Any]) -> bool:
    """Whether a network of the study is of the kind and size of a row of the paper."""
    return network_kind(study, network) == row["architecture"] and same_size(study, network, row)


class Beside(NamedTuple):
    """Our number of a condition's measure beside the paper's; each may be None."""

    keys: Mapping[str, Any]
    measure: str
    ours: Mean | None
    paper: Quote | None = None

    @property
    def agreement(self) -> str:
        """Whether ours agrees with the paper's, by `agreement`; or `NOT_COMPARABLE`."""
        if self.paper is None or self.ours is None:
            return NO_ANSWER
        if self.paper.reason:
            return NOT_COMPARABLE
        value, low, high = self.paper[:3]
        return agreement(self.ours, value, None if None in (low, high) else (high - low) / 2)

    def text(self, digits: int = 2, signed: bool = False) -> str:
        """Two lines, ours over the paper's; the second is left out where the paper has none."""
        agreement_text = "" if self.agreement == NO_ANSWER else f" ({self.agreement})"
        second = f"\n{self.paper.text(digits, signed)}{agreement_text}" if self.paper else ""
        return mean_text(self.ours, digits, signed) + second

    @property
    def csv_row(self) -> dict[str, Any]:
        there = ("paper", "paper_low", "paper_high", "paper_place")
        paper = self.paper or Quote(None)
        return (
            {name: self.keys.get(name, "") for name in KEYS}
            | {"measure": self.measure, "run": self.ours is not None}
            | dict(zip(MEAN, (self.ours or Mean(None, None, None))[:5], strict=True))
            | dict(zip(there, paper[:4], strict=True))
            | {"compared": self.agreement, "not_comparable": paper.reason}
        )


def means_by_keys(measured: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Mean]]:
    """Each condition's means by measure, of the result `measured`, by its key columns."""
    return {
        keys: {name: Mean(*row) for name, *row in group[["measure", *MEAN]].itertuples(index=False)}
        for keys, group in measured.groupby(list(KEYS), sort=False)
    }


def conditions_frame(means: Mapping[tuple[str, ...], Mapping[str, Mean]]) -> pd.DataFrame:
    """A table with a row a condition: its key columns, and its means by measure as "means"."""
    return pd.DataFrame([[*keys, mean] for keys, mean in means.items()], columns=[*KEYS, "means"])
