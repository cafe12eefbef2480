"""What tables of the past gradient share: means beside the paper's numbers, cell by cell.

A cell has two lines: ours with half of its 95 % t interval over seeds, and under it the paper's
number with what the one rule of `orla.reports.beside` says of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from orla.reports.agreement import COMPARED, NOT_COMPARABLE, compared
from orla.reports.numbers import MISSING, is_missing, number
from orla.reports.paper_rows import Theirs
from orla.reports.study import StudyFacts
from orla.reports.tables.shared import NOT_RUN, twin
from orla.statistics.means import moments
from orla.study.keys import DEFAULTS, KEYS
from orla.study.plan import STATIONARY

CELLS = (
    "First lines: ours, the mean over seeds ± half of its 95 % t interval. Second lines: the "
    "paper's number."
)
RULE = f"{COMPARED} Neither: not run, diverged, or a network of another size."
RECOVERY = "recovery_heldout_percent"
# Whole numbers of a share are per cent.
PERCENT = 100.0
# What sets the panels of a table apart whose lines are networks.
EPISODE = ("task", "pair", "precision", "split")


class Mean(NamedTuple):
    """A mean over seeds and its 95 % t interval; NaN where every model diverged."""

    value: float
    low: float = np.nan
    high: float = np.nan
    n: int = 0
    diverged: int = 0


class Means:
    """The table `measured` by condition and measure."""

    def __init__(self, measured: pd.DataFrame):
        self._found: dict[tuple, Mean] = {}
        self._lost: dict[tuple, int] = {}
        for row in measured.to_dict("records"):
            key = tuple(row[name] for name in KEYS)
            mean = (row["mean"], row["t95_low"], row["t95_high"], row["n_seeds"], row["n_diverged"])
            self._found[(*key, row["measure"])] = Mean(*mean)
            if row["measure"] == RECOVERY and not row["n_seeds"] and row["n_diverged"]:
                self._lost[key] = row["n_diverged"]

    def of(self, keys: Mapping[str, str], measure: str) -> Mean | None:
        """A condition's mean; None where it was not run or not measured."""
        key = tuple(keys.get(name, "") for name in KEYS)
        if key in self._lost and (*key, measure) not in self._found:
            return Mean(np.nan, diverged=self._lost[key])
        return self._found.get((*key, measure))


def mean_of(values: Iterable[float], diverged: int = 0) -> Mean:
    """Mean and interval of one value a seed; those that are not finite are left out."""
    found = moments(np.fromiter(values, float))
    return Mean(found.mean, *found.interval(), found.n, diverged)


@dataclass
class Sheet:
    """The cells of a table, with a row of the .csv twin for each of them.

    Attributes:
        study: names and instances of the study.
        records: ours, the paper's and what the rule says, cell by cell.
        ran: whether any of ours was run.
    """

    study: StudyFacts
    records: list[dict[str, Any]] = field(default_factory=list)
    ran: bool = False

    def cell(
        self,
        keys: Mapping[str, str],
        measure: str,
        ours: Mean | None,
        paper: Theirs | None = None,
        *,
        digits: int = 2,
        signed: bool = False,
        scale: float = 1.0,
        comparable: bool = True,
    ) -> str:
        """Two lines, ours over the paper's; the second is left out where the paper has none.

        Args:
            keys: the condition, for the .csv twin.
            measure: what the number is.
            ours: our mean, None where it was not run.
            paper: the paper's number.
            digits, signed: how both are written.
            scale: what ours is multiplied by, as the paper's is in per cent.
            comparable: whether both are of a network of one size.
        """
        ours = _scaled(ours, scale)
        said = self.note(keys, measure, ours, paper, comparable)
        first = shown(ours, digits, signed)
        if paper is None:
            return first
        judged = "" if said == NOT_COMPARABLE else f" ({said})"
        return f"{first}\n{paper.text(digits, signed)}{judged}"

    def note(
        self,
        keys: Mapping[str, str],
        measure: str,
        ours: Mean | None,
        paper: Theirs | None,
        comparable: bool = True,
    ) -> str:
        """What the rule says of both; the row of the twin is added."""
        self.ran = self.ran or ours is not None
        said = NOT_COMPARABLE
        if ours is not None and paper is not None and comparable:
            said = compared(ours.value, ours.low, ours.high, paper.value, paper.spread)
        self.records.append(
            {name: keys.get(name, "") for name in KEYS}
            | {"measure": measure, "run": ours is not None}
            | {"mean": ours.value if ours else None, "t95_low": ours.low if ours else None}
            | {"t95_high": ours.high if ours else None, "n_seeds": ours.n if ours else 0}
            | {"n_diverged": ours.diverged if ours else 0}
            | {"paper": paper.value if paper else None, "paper_low": paper.low if paper else None}
            | {"paper_high": paper.high if paper else None}
            | {"paper_place": paper.place if paper else None, "compared": said}
        )
        return said

    @property
    def data(self) -> pd.DataFrame:
        """The .csv twin, a row a cell."""
        return twin(self.records, pd.DataFrame(columns=list(KEYS)), self.study)


def shown(ours: Mean | None, digits: int, signed: bool = False) -> str:
    """Ours in one line: the mean ± half of its interval, or why there is none."""
    if ours is None:
        return NOT_RUN
    if is_missing(ours.value):
        return "diverged" if ours.diverged else MISSING
    half = "" if is_missing(ours.high) else f" ± {number((ours.high - ours.low) / 2, digits)}"
    return number(ours.value, digits, signed) + half


def seeds(ours: Mean | None) -> str:
    """The number of seeds, and how many diverged."""
    if ours is None:
        return MISSING
    return f"{ours.n}" + (f" ({ours.diverged} div.)" if ours.diverged else "")


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows without an intervention or another start."""
    return frame[np.logical_and.reduce([frame[name] == value for name, value in DEFAULTS.items()])]


def measured_at(measured: pd.DataFrame, *measures: str) -> pd.DataFrame:
    """The conditions that have one of these measures, each once: key columns alone."""
    rows = plain(measured)
    return rows.loc[rows["measure"].isin(measures), list(KEYS)].drop_duplicates()


def drifting(conditions: pd.DataFrame) -> pd.DataFrame:
    """The conditions without those of the stationary control."""
    return conditions[conditions["split"] != STATIONARY]


def kept(frame: pd.DataFrame, wanted: Iterable[bool]) -> pd.DataFrame:
    """The rows for which `wanted` is true; it has one value a row, and may have none."""
    return frame[np.fromiter(wanted, bool, len(frame))]


def _scaled(ours: Mean | None, scale: float) -> Mean | None:
    if ours is None:
        return None
    return ours._replace(value=ours.value * scale, low=ours.low * scale, high=ours.high * scale)
