"""Rows of results: found by their columns, read as numbers, and held against checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg.registration import Check, Registration, Value
from orla.prereg.rules import Estimate

Tables = Mapping[str, pd.DataFrame]
LEARNERS = {"learner_full": "over_best_full", "learner_immediate": "over_best_immediate"}
"""Column of each learner of a row that compares two -> the columns of its recovery over the better
of the frozen network and the best constant."""
_NOTHING = Estimate()


@dataclass(frozen=True)
class Evidence:
    """What results say on a registration: its estimate over `n` units, and other ways to form it.

    `leave_one_out_estimates` are those of studies with one pair left out, by the pair; `obstacles`
    are reasons not to judge by it, `notes` what is to be said beside it.
    """

    registration: Registration
    estimate: Estimate = _NOTHING
    n: int = 0
    variants: Mapping[str, Estimate] = field(default_factory=dict)
    leave_one_out_estimates: Mapping[str, Estimate] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """The values of a row of a result that a registration (its name) reads."""

    registration: str
    result: str
    values: pd.Series

    def __getitem__(self, column: str) -> Any:
        return self.values[column]

    def number(self, column: str) -> float:
        """A value as a number; NaN where it is missing. OrlaError if it is text."""
        value = self[column]
        if pd.isna(value):
            return np.nan
        try:
            return float(value)
        except (TypeError, ValueError):
            holds = f'column "{column}" of {self.result} holds {value!r}, not a number'
            raise OrlaError(f"registration {self.registration}: {holds}") from None

    def count(self, column: str) -> int | None:
        """A value as a count; None where it is missing, infinite, negative or no whole number."""
        value = self.number(column)
        return int(value) if value >= 0 and value.is_integer() else None

    @property
    def guard_failures(self) -> list[str]:
        """Its guards as sentences; a row whose guards are missing has that for one."""
        if not isinstance(self["guards"], str):
            return ["its guards are missing: build the table of estimates again"]
        return [text for text in self["guards"].split("; ") if text]


def matching_rows(table: pd.DataFrame, where: Mapping[str, Value]) -> pd.DataFrame:
    """Rows that hold these values."""
    matches = np.ones(len(table), dtype=bool)
    for column, value in where.items():
        matches &= (table[column] == value).to_numpy(bool, na_value=False)
    return table[matches]


def one_row(table: pd.DataFrame, registration: Registration) -> Row | None:
    """The row that a registration reads; None without one, OrlaError for several."""
    name, where, result = registration.name, registration.query.where, registration.query.result
    rows = matching_rows(table, where)
    if len(rows) > 1:
        columns = [c for c in rows.columns if c not in where and rows[c].nunique() > 1]
        raise OrlaError(
            f"registration {name}: {len(rows)} rows of {result} have {where_text(where)}; name "
            f"one by {' or '.join(columns[:3]) or 'its seed'} too"
        )
    return None if rows.empty else Row(name, result, rows.iloc[0])


def check_failures(check: Check, table: pd.DataFrame) -> list[str]:
    """How a manipulation check fails, one sentence a row; [] where it holds on every row."""
    target = value_text(check.equals) if check.region is None else check.region.describe()
    problems = []
    for values in product(*check.where.values()):
        where = dict(zip(check.where, values, strict=True))
        rows = matching_rows(table, where)
        if rows.empty:
            problems.append(missing_row_text(check.result, where, table))
        problems += [
            f'manipulation check "{check.name}" fails: {" to ".join(check.ends)} is '
            f"{' to '.join(map(value_text, values))} where {where_text(where)}, not {target}"
            for values in rows[list(check.ends)].drop_duplicates().itertuples(index=False)
            if not _check_holds(check, values)
        ]
    return problems


def missing_row_text(result: str, where: Mapping[str, Value], table: pd.DataFrame) -> str:
    """Why no row of a result holds these values."""
    for column, value in where.items():
        present = sorted(map(str, table[column].unique()))
        if str(value) not in present:
            has = ", ".join(present[:9]) or "no row of this task and pair"
            return f"{result} has no row with {column} = {value} (it has {has})"
    return f"{result} has no row with {where_text(where)}"


def value_text(value: Value | None) -> str:
    """A value in words, numbers with four digits."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def where_text(where: Mapping[str, Value]) -> str:
    """Columns and the values that rows must hold, in words."""
    return ", ".join(f"{column} = {value}" for column, value in where.items())


def _check_holds(check: Check, values: Sequence[Value]) -> bool:
    if check.region is None:
        return bool(values[0] == check.equals)
    ends = pd.to_numeric(pd.Series(list(values)), errors="coerce").to_numpy(float)
    low, high = ends[0], ends[-1]
    return bool(np.isfinite(ends).all() and low <= high and check.region.contains(low, high))
