"""The evidence on a registration: the rows that it names, and every reason not to judge by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orla.prereg import agreement, intervals, means, rows
from orla.prereg.registration import QUANTITIES, Registration, Value, check_columns
from orla.prereg.rows import Evidence, Row, Tables


@dataclass(frozen=True)
class Case:
    """A registration with the evidence of each reading, and every obstacle in order."""

    registration: Registration
    evidence: tuple[Evidence, ...]
    obstacles: tuple[str, ...]


def read(
    registration: Registration,
    tables: Tables,
    binding: Mapping[str, Any] | None,
    assumed: Mapping[str, Value],
) -> Case:
    """Read all that a registration names.

    Args:
        registration: The registration.
        tables: Result -> its table.
        binding: What the study binds, as from `binding.bound`, or None.
        assumed: Column -> value, for columns that a registration of version 1 does not name.

    Raises:
        OrlaError: A result or column is missing, several rows fit, a label or unit is not that of
            the columns, or a row's numbers disagree with one another or with those of its pairs.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    agreement.check(registration)
    if not registration.tested:
        evidence = tuple(
            intervals.read(each, registration, tables, assumed) for each in registration.criteria
        )
        obstacles = [text for each in evidence for text in each.obstacles]
        obstacles += _checks(registration, tables, assumed)
        obstacles += intervals.guards(registration, tables, assumed)
        return Case(registration, evidence, tuple(obstacles))
    obstacles = _binding(registration, binding)
    obstacles += _checks(registration, tables, registration.assumed)
    [reading] = registration.readings
    table = tables[reading.result]
    row = rows.one_row(table, reading, registration.name)
    if row is None:
        text = rows.missing(reading.result, reading.where, table)
        return Case(registration, (Evidence(reading),), (text, *obstacles))
    evidence = means.read(registration, row, tables, obstacles)
    return Case(registration, (evidence,), evidence.obstacles)


def _checks(registration: Registration, tables: Tables, assumed: Mapping[str, Value]) -> list[str]:
    """How manipulation checks fail; [] where all hold.

    A quantity that a check reads is held to the registration's own unit, alpha, sample and
    exclusions: one over two pairs that are left would show nothing.
    """
    problems = []
    for check in registration.checks:
        table = rows.assuming(tables[check.result], check.where, assumed)
        problems += rows.failures(check, table)
        if registration.tested and check.result == QUANTITIES:
            for _, values in table[table["quantity"].isin(check.where["quantity"])].iterrows():
                row = Row(registration.name, check.result, values)
                problems += [
                    f'manipulation check "{check.name}": {text}'
                    for text in means.quantity_problems(registration, row)
                ]
    return problems


def _binding(registration: Registration, binding: Mapping[str, Any] | None) -> list[str]:
    """How the study differs from the record and the behaviour that were bound."""
    if not registration.binds:
        return ["it binds neither config nor behaviour"]
    if binding is None:
        return ["the study does not say which config and code it ran"]
    problems = [binding["refused"]] if "refused" in binding else []
    told, wanted = (b.get("record_sha256", "none") for b in (binding, registration.binds))
    if told != wanted:
        problems.append(
            f"the config that its conditions depend on is not the one registered ({told[:9]}, "
            f"registered {wanted[:9]}): run what was registered, or amend the registration"
        )
    parts, bound = binding.get("parts", {}), registration.binds.get("parts", {})
    problems += [
        f"{name} does not behave as registered ({parts.get(name, 'none')}, registered "
        f"{bound.get(name, 'none')}): undo the change, or amend the registration"
        for name in sorted({*parts, *bound})
        if parts.get(name) != bound.get(name)
    ]
    if binding.get("uncommitted"):
        problems.append("its results were made by uncommitted code: commit it, and run again")
    return problems
