"""Judge a registration of version 1: each interval must lie in its region."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from orla.errors import OrlaError
from orla.prereg import agreement, guards, rows
from orla.prereg.registration import Criterion, Registration, Value, check_columns
from orla.prereg.rows import show
from orla.prereg.verdict import Verdict


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
    """Judge one registration of version 1.

    It is untestable when a row is missing, an interval is not finite, the sample is not as large
    as registered (finite plus diverged), too many diverged, a table was made at another alpha, a
    denominator is unreliable, an estimate has a guard, or a manipulation check fails; otherwise
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
        When the registration names a result or column that does not exist, or a label or unit that
        its columns do not have; singles out more than one row; or a mean lies outside its interval.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    agreement.check(registration)
    assumed = assumed or {}
    readings = [
        _read(c, registration, rows.assuming(tables[c.result], c.where, assumed))
        for c in registration.criteria
    ]
    obstacles = [text for reading in readings for text in reading.obstacles]
    obstacles += [
        text
        for check in registration.checks
        for text in rows.failures(check, rows.assuming(tables[check.result], check.where, assumed))
    ]
    obstacles += guards.of(registration, tables, assumed)
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


def _read(criterion: Criterion, registration: Registration, table: pd.DataFrame) -> _Reading:
    row = rows.one_row(table, criterion.where, registration.name, criterion.result)
    if row is None:
        text = rows.missing(criterion.result, criterion.where, table)
        return _Reading(criterion, obstacles=(text,))
    estimate, low, high, n = (
        rows.number(row[column], column, registration.name, criterion.result)
        for column in (criterion.estimate, criterion.low, criterion.high, criterion.n)
    )
    place = f"registration {registration.name}: {criterion.result}"
    if low > high:
        raise OrlaError(
            f"{place} has {criterion.low} above {criterion.high}; the two columns are swapped"
        )
    obstacles = _of_sample(criterion, registration, row, rows.count(n))
    obstacles += _of_conditions(criterion, registration, row, table)
    if not np.isfinite([estimate, low, high]).all():
        obstacles.append(f"{criterion.estimate} has no finite {criterion.interval}")
    elif not low <= estimate <= high:
        # Resampled correlations may all be weaker than a perfect one; a mean's interval holds it.
        if not np.isfinite(agreement.natural_range(criterion.estimate)).all():
            raise OrlaError(
                f"{place} has {criterion.estimate} {show(estimate)} outside its own interval "
                f"[{show(low)}, {show(high)}]; delete the table and build it again"
            )
        obstacles.append(f"{criterion.estimate} {show(estimate)} lies outside its own interval")
    if criterion.unreliable and bool(row[criterion.unreliable]):
        obstacles.append(f"{criterion.estimate} is unreliable: its denominator is too small")
    return _Reading(criterion, estimate, low, high, rows.count(n) or 0, tuple(obstacles))


def _of_sample(
    criterion: Criterion, registration: Registration, row: pd.Series, n: int | None
) -> list[str]:
    """How the sample differs from the one registered."""
    size, least = registration.sample["size"], registration.sample["minimum"]
    if n is None:
        return [f"{criterion.n} is {row[criterion.n]}, no count"]
    found = []
    if n < least:
        found.append(f"n = {n}, fewer than the {least} registered as the least")
    if criterion.diverged is None:
        if n > size:
            found.append(f"n = {n}, more than the {size} registered, and none is added")
        return found
    diverged = rows.count(
        rows.number(row[criterion.diverged], criterion.diverged, registration.name, "")
    )
    if diverged is None:
        return [*found, f"{criterion.diverged} is {row[criterion.diverged]}, no count"]
    if n + diverged != size:
        found.append(f"n = {n} and {diverged} diverged: not the {size} registered")
    most = registration.exclusions["max_diverged"]
    if diverged > most:
        found.append(f"{diverged} diverged, more than the {most} registered as the most")
    return found


def _of_conditions(
    criterion: Criterion, registration: Registration, row: pd.Series, table: pd.DataFrame
) -> list[str]:
    """How the row's alpha and learners differ from those registered."""
    source: Any = table.attrs.get("provenance", {}).get("config", {}).get("statistics", {})
    alpha = row.get("alpha", source.get("alpha", agreement.ALPHA))
    found = []
    if alpha != agreement.ALPHA:
        found.append(
            f"{criterion.result} was made at alpha {show(alpha)}, and {agreement.ALPHA} is "
            "registered: set statistics.alpha"
        )
    learners = registration.conditions.get("learner")
    known = [learners] if isinstance(learners, str) else learners
    for column in ("learner_full", "learner_immediate"):
        if known and column in row and row[column] not in known:
            found.append(
                f"{criterion.result} compares {row[column]}, and {' and '.join(known)} are "
                "registered"
            )
    return found


def _say(reading: _Reading, place: str) -> str:
    criterion, unit = reading.criterion, reading.criterion.unit and f" {reading.criterion.unit}"
    return (
        f"{criterion.estimate} is {show(reading.estimate)}{unit}, {criterion.interval} "
        f"[{show(reading.low)}, {show(reading.high)}]{unit}, n = {reading.n}: {place} the region "
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
        limits=(
            f"{reading.criterion.interval}, of one pair, one freezing step and one chosen rate: it "
            "holds none of the variation between pairs, steps or rates"
        ),
    )
