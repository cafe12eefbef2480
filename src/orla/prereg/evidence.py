"""The evidence on a registration: the row that it names, and every reason not to judge by it."""

from collections.abc import Mapping
from typing import Any

from orla.prereg import means, rows
from orla.prereg.registration import QUANTITIES, Registration, check_columns
from orla.prereg.rows import Evidence, Tables


def read_evidence(
    registration: Registration, tables: Tables, binding: Mapping[str, Any] | None
) -> Evidence:
    """Read all that a registration names; arguments as in `judge.verdict_table`.

    OrlaError: a column is missing, several rows fit, or numbers disagree.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    obstacles = _binding_differences(registration, binding)
    obstacles += _manipulation_failures(registration, tables)
    query = registration.query
    table = tables[query.result]
    if (row := rows.one_row(table, registration)) is None:
        text = rows.missing_row_text(query.result, query.where, table)
        return Evidence(registration, obstacles=(text, *obstacles))
    return means.mean_evidence(registration, row, tables, obstacles)


def _manipulation_failures(registration: Registration, tables: Tables) -> list[str]:
    """How manipulation checks fail, in words; [] where all hold.

    A quantity that a check reads is held to the registration's own unit, alpha and sample.
    """
    problems = []
    for check in registration.checks:
        table, assumed = tables[check.result], registration.default_where.items()
        unnamed = {key: v for key, v in assumed if key in table and key not in check.where}
        table = rows.matching_rows(table, unnamed)
        problems += rows.check_failures(check, table)
        if check.result == QUANTITIES:
            quantity_rows = table[table["quantity"].isin(check.where["quantity"])]
            for _, values in quantity_rows.iterrows():
                row = rows.Row(registration.name, check.result, values)
                texts = means.quantity_problems(registration, row)
                problems += [f'manipulation check "{check.name}": {text}' for text in texts]
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
