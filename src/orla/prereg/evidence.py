"""The evidence on a registration: the rows that it names, and every reason not to judge by them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from orla.errors import OrlaError
from orla.prereg import agreement, means, rows
from orla.prereg.registration import (
    QUANTITIES,
    RESULT,
    SEED,
    EstimateReading,
    Registration,
    Value,
    check_columns,
)
from orla.prereg.rows import LEARNERS, Case, Evidence, Row, Tables, value_text
from orla.prereg.rules import Estimate


def read_case(
    registration: Registration,
    tables: Tables,
    binding: Mapping[str, Any] | None,
    defaults: Mapping[str, Value],
) -> Case:
    """Read all that a registration names; arguments as in `judge.verdict_table`.

    OrlaError: a column is missing, several rows fit, or numbers or labels disagree.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    agreement.check_criterion_labels_and_units(registration)
    if not registration.is_tested:
        evidence = tuple(
            _interval_evidence(each, registration, tables, defaults)
            for each in registration.criteria
        )
        obstacles = [text for each in evidence for text in each.obstacles]
        obstacles += _manipulation_failures(registration, tables, defaults)
        obstacles += _guard_sentences(registration, tables, defaults)
        return Case(registration, evidence, tuple(obstacles))
    obstacles = _binding_differences(registration, binding)
    obstacles += _manipulation_failures(registration, tables, registration.assumed_values)
    [reading] = registration.readings
    table = tables[reading.result]
    row = rows.one_row(table, reading, registration.name)
    if row is None:
        text = rows.missing_row_text(reading.result, reading.where, table)
        return Case(registration, (Evidence(reading),), (text, *obstacles))
    evidence = means.read_evidence(registration, row, tables, obstacles)
    return Case(registration, (evidence,), evidence.obstacles)


def _manipulation_failures(
    registration: Registration, tables: Tables, defaults: Mapping[str, Value]
) -> list[str]:
    """How manipulation checks fail, in words; [] where all hold.

    A quantity that a check reads is held to the registration's own unit, alpha and sample.
    """
    problems = []
    for check in registration.checks:
        table = rows.rows_with_defaults(tables[check.result], check.where, defaults)
        problems += rows.check_failures(check, table)
        if registration.is_tested and check.result == QUANTITIES:
            quantity_rows = table[table["quantity"].isin(check.where["quantity"])]
            problems += [
                f'manipulation check "{check.name}": {text}'
                for row in rows.table_rows(quantity_rows, registration, check.result)
                for text in means.quantity_problems(registration, row)
            ]
    return problems


def _binding_differences(
    registration: Registration, binding: Mapping[str, Any] | None
) -> list[str]:
    """How the study differs from the record and the behaviour that were bound, in words."""
    if not registration.binds:
        return ["it binds neither config nor behaviour"]
    if binding is None:
        return ["the study does not say which config and code it ran"]
    problems = [binding["refused"]] if "refused" in binding else []
    actual, target = (b.get("record_sha256", "none") for b in (binding, registration.binds))
    if actual != target:
        problems.append(
            f"the config that its conditions depend on is not the one registered ({actual[:9]}, "
            f"registered {target[:9]}): run what was registered, or amend the registration"
        )
    sums = binding.get("recordings", {})
    problems += [
        f"the recording {name} is not the one registered ({sums.get(name, 'none')[:9]}, registered "
        f"{target[:9]}): take the file that was registered, or amend the registration"
        for name, target in registration.binds.get("recordings", {}).items()
        if sums.get(name) != target
    ]
    parts, registered_parts = binding.get("parts", {}), registration.binds.get("parts", {})
    problems += [
        f"{name} does not behave as registered ({parts.get(name, 'none')}, registered "
        f"{registered_parts.get(name, 'none')}): undo the change, or amend the registration"
        for name in sorted({*parts, *registered_parts})
        if parts.get(name) != registered_parts.get(name)
    ]
    if binding.get("uncommitted"):
        problems.append("its results were made by uncommitted code: commit it, and run again")
    return problems


def _interval_evidence(
    reading: EstimateReading,
    registration: Registration,
    tables: Tables,
    defaults: Mapping[str, Value],
) -> Evidence:
    """The interval of a criterion of version 1, and every reason not to judge by it."""
    columns = reading.columns
    table = rows.rows_with_defaults(tables[reading.result], reading.where, defaults)
    row = rows.one_row(table, reading, registration.name)
    if row is None:
        return Evidence(
            reading, obstacles=(rows.missing_row_text(reading.result, reading.where, table),)
        )
    mean, low, high = (row.number(columns[role]) for role in ("estimate", "low", "high"))
    what, n = columns["estimate"], row.count(columns["n"])
    place = f"registration {registration.name}: {reading.result}"
    if low > high:
        ends = f"{columns['low']} above {columns['high']}"
        raise OrlaError(f"{place} has {ends}; the two columns are swapped")
    provenance = table.attrs.get("provenance", {}).get("config", {}).get("statistics", {})
    alpha = row.values.get("alpha", provenance.get("alpha", agreement.ALPHA))
    learners = registration.conditions.get("learner", [])
    learners = [learners] if isinstance(learners, str) else learners
    obstacles = [
        *_sample_problems(reading, registration, row, n),
        *row.alpha_problems(alpha, agreement.ALPHA),
        *(
            f"{row.result} compares {row[column]}, and {' and '.join(learners)} are registered"
            for column in LEARNERS
            if learners and column in row.values and row[column] not in learners
        ),
    ]
    if not np.isfinite([mean, low, high]).all():
        obstacles.append(f"{what} has no finite {reading.interval}")
    elif not low <= mean <= high:
        # Resampled correlations may all be weaker than a perfect one; a mean's interval holds it.
        if not np.isfinite(agreement.natural_range(what)).all():
            ends = f"[{value_text(low)}, {value_text(high)}]"
            outside = f"{value_text(mean)} outside its own interval {ends}"
            raise OrlaError(f"{place} has {what} {outside}; build the table again")
        obstacles.append(f"{what} {value_text(mean)} lies outside its own interval")
    if "unreliable" in columns and bool(row[columns["unreliable"]]):
        obstacles.append(f"{what} is unreliable: its denominator is too small")
    estimate = Estimate(mean, low=low, high=high)
    return Evidence(reading, estimate, n or 0, obstacles=tuple(obstacles))


def _sample_problems(
    reading: EstimateReading, registration: Registration, row: Row, n: int | None
) -> list[str]:
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
    if (n_diverged := row.count(column)) is None:
        return [*problems, f"{column} is {row[column]}, no count"]
    if n + n_diverged != size:
        problems.append(f"n = {n} and {n_diverged} diverged: not the {size} registered")
    if n_diverged > (most := registration.max_diverged):
        problems.append(f"{n_diverged} diverged, more than the {most} registered as the most")
    return problems


def _guard_sentences(
    registration: Registration, tables: Tables, defaults: Mapping[str, Value]
) -> list[str]:
    """Guards of the held-out estimates of a registration of version 1; [] without their table.

    Where the conditions name one learner, only guards that all its estimates share are given; any
    other guard may be that of the other learner.
    """
    if (result := RESULT[SEED]) not in tables or "learner" not in registration.conditions:
        return []
    conditions = {k: [v] if isinstance(v, str) else v for k, v in registration.conditions.items()}
    learners = conditions.pop("learner")
    table = rows.rows_with_defaults(tables[result], conditions, {**defaults, "estimand": "heldout"})
    for key, values in conditions.items():
        if key in table:
            table = table[table[key].isin(values)]
    inside, both = table[list(LEARNERS)].isin(learners), len(learners) > 1
    table = table[inside.all(axis=1) if both else inside.any(axis=1)]
    each = rows.table_rows(table, registration, result)
    if both:
        return [f"{r['optimizer']}, {r['comparison']}: {text}" for r in each for text in r.guards]
    guard_sets = [set(row.guards) for row in each]
    return sorted(set.intersection(*guard_sets)) if guard_sets else []
