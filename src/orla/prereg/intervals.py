"""Intervals that registrations of version 1 read, and every reason not to judge by them."""

from collections.abc import Mapping

import numpy as np

from orla.errors import OrlaError
from orla.prereg import agreement, rows
from orla.prereg.registration import RESULT, SEED, Reading, Registration, Value
from orla.prereg.rows import LEARNERS, Evidence, Row, Tables, show
from orla.prereg.rules.base import Estimate

_HELDOUT = "heldout"


def read(
    reading: Reading, registration: Registration, tables: Tables, assumed: Mapping[str, Value]
) -> Evidence:
    """The interval of a criterion of version 1."""
    columns = reading.columns
    table = rows.assuming(tables[reading.result], reading.where, assumed)
    row = rows.one_row(table, reading, registration.name)
    if row is None:
        return Evidence(reading, obstacles=(rows.missing(reading.result, reading.where, table),))
    mean, low, high = (row.number(columns[role]) for role in ("estimate", "low", "high"))
    what, n = columns["estimate"], row.count(columns["n"])
    place = f"registration {registration.name}: {reading.result}"
    if low > high:
        raise OrlaError(
            f"{place} has {columns['low']} above {columns['high']}; the two columns are swapped"
        )
    provenance = table.attrs.get("provenance", {}).get("config", {}).get("statistics", {})
    alpha = row.values.get("alpha", provenance.get("alpha", agreement.ALPHA))
    obstacles = [
        *_units(reading, registration, row, n),
        *row.other_alpha(alpha, agreement.ALPHA),
        *_compared(registration, row),
    ]
    if not np.isfinite([mean, low, high]).all():
        obstacles.append(f"{what} has no finite {reading.interval}")
    elif not low <= mean <= high:
        # Resampled correlations may all be weaker than a perfect one; a mean's interval holds it.
        if not np.isfinite(agreement.natural_range(what)).all():
            raise OrlaError(
                f"{place} has {what} {show(mean)} outside its own interval "
                f"[{show(low)}, {show(high)}]; delete the table and build it again"
            )
        obstacles.append(f"{what} {show(mean)} lies outside its own interval")
    if "unreliable" in columns and bool(row[columns["unreliable"]]):
        obstacles.append(f"{what} is unreliable: its denominator is too small")
    estimate = Estimate(mean, low=low, high=high)
    return Evidence(reading, estimate, n or 0, obstacles=tuple(obstacles))


def _units(reading: Reading, registration: Registration, row: Row, n: int | None) -> list[str]:
    """How the sample differs from the one registered in version 1."""
    size, least, column = registration.seeds, registration.least, reading.columns["n"]
    if n is None:
        return [f"{column} is {row[column]}, no count"]
    problems = []
    if n < least:
        problems.append(f"n = {n}, fewer than the {least} registered as the least")
    if (column := reading.columns.get("diverged")) is None:
        if n > size:
            problems.append(f"n = {n}, more than the {size} registered, and none is added")
        return problems
    if (diverged := row.count(column)) is None:
        return [*problems, f"{column} is {row[column]}, no count"]
    if n + diverged != size:
        problems.append(f"n = {n} and {diverged} diverged: not the {size} registered")
    if diverged > (most := registration.max_diverged):
        problems.append(f"{diverged} diverged, more than the {most} registered as the most")
    return problems


def _compared(registration: Registration, row: Row) -> list[str]:
    """How the row's learners differ from those registered in version 1."""
    learners = registration.conditions.get("learner")
    learners = [learners] if isinstance(learners, str) else learners
    return [
        f"{row.result} compares {row[column]}, and {' and '.join(learners)} are registered"
        for column in LEARNERS
        if learners and column in row.values and row[column] not in learners
    ]


def guards(registration: Registration, tables: Tables, assumed: Mapping[str, Value]) -> list[str]:
    """Guards of the held-out estimates of the conditions of version 1; [] without such a table.

    Where the conditions name both learners of an estimate, each of its guards counts. Where they
    name one learner, a guard counts that every estimate with this learner has, for then it is not
    the other learner's.
    """
    result = RESULT[SEED]
    if result not in tables or "learner" not in registration.conditions:
        return []
    conditions = {
        key: value if isinstance(value, list) else [value]
        for key, value in registration.conditions.items()
    }
    learners = conditions.pop("learner")
    table = rows.assuming(tables[result], conditions, {**assumed, "estimand": _HELDOUT})
    for key, values in conditions.items():
        if key in table:
            table = table[table[key].isin(values)]
    inside = table[list(LEARNERS)].isin(learners)
    both = len(learners) > 1
    table = table[inside.all(axis=1) if both else inside.any(axis=1)]
    each = [Row(registration.name, result, values) for _, values in table.iterrows()]
    if both:
        return [f"{r['optimizer']}, {r['comparison']}: {text}" for r in each for text in r.guards]
    shared = [set(row.guards) for row in each]
    return sorted(set.intersection(*shared)) if shared else []
