"""Judge results by the registrations. No registration has code of its own here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg.lock import Locked
from orla.prereg.registration import Check, Criterion, Registration, Value, check_columns

VERDICT_COLUMNS = [
    "registration",
    "title",
    "outcome",
    "reason",
    "estimate",
    "low",
    "high",
    "threshold",
    "n",
    "registered_on",
    "amended",
    "lock_sha256",
]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one registration.

    `outcome` is supported, falsified, inconclusive or untestable; `reason` gives the deciding
    criterion or the obstacles, and `meaning` the registration's own words for this outcome. The
    numbers are those of the deciding criterion, null where its row is missing; `threshold` is its
    region in words.
    """

    registration: str
    title: str
    outcome: str
    reason: str
    meaning: str
    estimate: float
    low: float
    high: float
    threshold: str
    n: int
    registered_on: str


@dataclass(frozen=True)
class _Reading:
    """One criterion's row: its numbers, or why it cannot be judged."""

    criterion: Criterion
    estimate: float = np.nan
    low: float = np.nan
    high: float = np.nan
    n: int = 0
    obstacles: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        return self.criterion.region.contains(self.low, self.high)

    @property
    def outside(self) -> bool:
        return self.criterion.region.excludes(self.low, self.high)


def judge(
    registration: Registration,
    tables: Mapping[str, pd.DataFrame],
    assumed: Mapping[str, Value] | None = None,
) -> Verdict:
    """Judge one registration.

    It is untestable when a row is missing, an interval is not finite, there are too few units or
    too many diverged, a denominator is unreliable, or a manipulation check fails; otherwise
    falsified when any interval lies wholly outside its region, supported when every one lies
    inside, and inconclusive elsewhere.

    Parameters
    ----------
    registration
        What was registered.
    tables
        Result -> its table.
    assumed
        Column -> value, for columns such as the task that the registration does not name: only
        rows with this value are read. Results without the column are not affected.

    Raises
    ------
    OrlaError
        When the registration names a result or column that does not exist, singles out more than
        one row, or names a lower end above an upper end.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    assumed = assumed or {}
    readings = [
        _read(c, registration, _assuming(tables[c.result], c.where, assumed))
        for c in registration.criteria
    ]
    obstacles = [text for reading in readings for text in reading.obstacles]
    obstacles += [
        text
        for check in registration.checks
        for text in _failures(check, _assuming(tables[check.result], check.where, assumed))
    ]
    if obstacles:
        blocked = next((r for r in readings if r.obstacles), readings[0])
        return _verdict(registration, "untestable", blocked, "; ".join(obstacles))
    outside = [reading for reading in readings if reading.outside]
    astride = [reading for reading in readings if not reading.inside]
    if outside:
        return _verdict(registration, "falsified", outside[0], _say(outside[0], "wholly outside"))
    if astride:
        return _verdict(registration, "inconclusive", astride[0], _say(astride[0], "partly inside"))
    reason = "; ".join(_say(reading, "inside") for reading in readings)
    return _verdict(registration, "supported", readings[0], reason)


def verdicts(
    registrations: Iterable[Registration],
    tables: Mapping[str, pd.DataFrame],
    locks: Mapping[str, Locked],
    assumed: Mapping[str, Value] | None = None,
) -> pd.DataFrame:
    """Judge registrations whose locks were verified.

    Parameters
    ----------
    registrations
        The registrations.
    tables
        Result -> its table.
    locks
        Registration -> its lock, from `orla.prereg.lock.verify`.
    assumed
        As in `judge`.

    Returns
    -------
    pandas.DataFrame
        One row a registration, columns `VERDICT_COLUMNS`. `reason` ends with the registration's
        own words for the outcome; `lock_sha256` is that of the file as it was locked.

    Raises
    ------
    OrlaError
        As in `judge`, and on a registration that is not locked.
    """
    rows = []
    for registration in registrations:
        if registration.name not in locks:
            raise OrlaError(
                f"registration {registration.name} is not locked; lock it before it is judged"
            )
        lock = locks[registration.name]
        verdict = judge(registration, tables, assumed)
        row = vars(verdict) | {"amended": lock.amended, "lock_sha256": lock.sha256}
        row["reason"] = f"{verdict.reason}. {verdict.meaning}"
        rows.append({column: row[column] for column in VERDICT_COLUMNS})
    return pd.DataFrame(rows, columns=VERDICT_COLUMNS)


def _read(criterion: Criterion, registration: Registration, table: pd.DataFrame) -> _Reading:
    rows = _matching(table, criterion.where)
    if rows.empty:
        return _Reading(criterion, obstacles=(_missing(criterion.result, criterion.where, table),))
    if len(rows) > 1:
        differing = [c for c in rows.columns if c not in criterion.where and rows[c].nunique() > 1]
        raise OrlaError(
            f"registration {registration.name}: {len(rows)} rows of {criterion.result} have "
            f"{_where(criterion.where)}; name one by {' or '.join(differing[:3]) or 'its seed'} too"
        )
    row = rows.iloc[0]
    estimate, low, high, n = (
        _number(row[column], column, registration, criterion)
        for column in (criterion.estimate, criterion.low, criterion.high, criterion.n)
    )
    if low > high:
        raise OrlaError(
            f"registration {registration.name}: {criterion.low} is above {criterion.high} in "
            f"{criterion.result}; the two columns are swapped"
        )
    n = int(n) if np.isfinite(n) else 0
    obstacles = []
    if not np.isfinite([estimate, low, high]).all():
        obstacles.append(f"{criterion.estimate} has no finite {criterion.interval}")
    if n < registration.sample["minimum"]:
        obstacles.append(
            f"n = {n}, fewer than the {registration.sample['minimum']} registered as the least"
        )
    if criterion.diverged and row[criterion.diverged] > registration.exclusions["max_diverged"]:
        obstacles.append(
            f"{int(row[criterion.diverged])} diverged, more than the "
            f"{registration.exclusions['max_diverged']} registered as the most"
        )
    if criterion.unreliable and bool(row[criterion.unreliable]):
        obstacles.append(f"{criterion.estimate} is unreliable: its denominator is too small")
    return _Reading(criterion, estimate, low, high, n, tuple(obstacles))


def _number(value: Any, column: str, registration: Registration, criterion: Criterion) -> float:
    if pd.isna(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OrlaError(
            f'registration {registration.name}: column "{column}" of {criterion.result} holds '
            f"{value!r}, not a number; name a column of numbers"
        ) from None


def _failures(check: Check, table: pd.DataFrame) -> list[str]:
    failures = []
    for values in product(*check.where.values()):
        where = dict(zip(check.where, values, strict=True))
        rows = _matching(table, where)
        if rows.empty:
            failures.append(_missing(check.result, where, table))
        failures += [
            f'manipulation check "{check.name}" fails: {check.column} is {_show(value)} '
            f"where {_where(where)}, not {_wanted(check)}"
            for value in rows[check.column].drop_duplicates()
            if not _holds(check, value)
        ]
    return failures


def _holds(check: Check, value: Value) -> bool:
    if check.region is None:
        return bool(value == check.equals)
    number = pd.to_numeric(pd.Series([value]), errors="coerce").iloc[0]
    return bool(np.isfinite(number)) and check.region.contains(number, number)


def _wanted(check: Check) -> str:
    return _show(check.equals) if check.region is None else check.region.describe()


def _assuming(
    table: pd.DataFrame, where: Mapping[str, Any], assumed: Mapping[str, Value]
) -> pd.DataFrame:
    silent = {c: v for c, v in assumed.items() if c in table and c not in where}
    return _matching(table, silent)


def _matching(table: pd.DataFrame, where: Mapping[str, Value]) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


def _missing(result: str, where: Mapping[str, Value], table: pd.DataFrame) -> str:
    for column, value in where.items():
        present = sorted(map(str, table[column].unique()))
        if str(value) not in present:
            return f"{result} has no row with {column} = {value} (it has {', '.join(present[:9])})"
    return f"{result} has no row with {_where(where)}"


def _say(reading: _Reading, place: str) -> str:
    criterion, unit = reading.criterion, reading.criterion.unit and f" {reading.criterion.unit}"
    return (
        f"{criterion.estimate} is {_show(reading.estimate)}{unit}, {criterion.interval} "
        f"[{_show(reading.low)}, {_show(reading.high)}]{unit}, n = {reading.n}: {place} the region "
        f"{criterion.region.describe(criterion.unit)}"
    )


def _verdict(registration: Registration, outcome: str, reading: _Reading, reason: str) -> Verdict:
    return Verdict(
        registration=registration.name,
        title=registration.title,
        outcome=outcome,
        reason=reason,
        meaning=" ".join(registration.outcomes[outcome].split()),
        estimate=reading.estimate,
        low=reading.low,
        high=reading.high,
        threshold=reading.criterion.region.describe(reading.criterion.unit),
        n=reading.n,
        registered_on=registration.date,
    )


def _where(where: Mapping[str, Value]) -> str:
    return ", ".join(f"{column} = {value}" for column, value in where.items())


def _show(value: Value | None) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
