"""What a registration about a quantity reads: its row, and every reason not to judge it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import guards, rows
from orla.prereg.claim_rows import SOUND, Estimate, Reading, near_its_interval, of_binding
from orla.prereg.claimed import PAIR, QUANTITIES, ClaimRegistration
from orla.prereg.registration import check_columns
from orla.prereg.rows import show

_COUNTS = ("n_pairs", "n_without_meaning", "n_seeds", "n_diverged", "n_failing")


def read(
    known: ClaimRegistration,
    tables: Mapping[str, pd.DataFrame],
    binding: Mapping[str, str] | None,
) -> Reading:
    """Read the row of a quantity; arguments and errors as those of `claim_rows.read`."""
    check_columns(known, {name: list(table.columns) for name, table in tables.items()})
    obstacles = of_binding(known, binding)
    for check in known.checks:
        assumed = rows.assuming(tables[check.result], check.where, known.assumed)
        obstacles += rows.failures(check, assumed)
    table = tables[QUANTITIES]
    row = rows.one_row(table, known.where, known.name, QUANTITIES)
    if row is None:
        text = rows.missing(QUANTITIES, known.where, table)
        return Reading(known, obstacles=(text, *obstacles))

    def number(column: str) -> float:
        return rows.number(row[column], column, known.name, QUANTITIES)

    counts = {name: rows.count(number(name)) for name in _COUNTS}
    names = ("value", "standard_error", "dof", "t90_low", "t90_high")
    estimate = Estimate(*(number(name) for name in names))
    obstacles += [*_of_sample(known, row, counts), *_of_guards(known, row, counts["n_failing"])]
    n = counts["n_pairs" if known.unit == PAIR else "n_seeds"] or 0
    if not np.isfinite(list(vars(estimate).values())).all() or not estimate.dof >= 1:
        obstacles.append(f"{known.quantity} has no finite t interval")
    elif not obstacles:
        near_its_interval(known, known.quantity, estimate)
        if estimate.dof > n - 1:
            raise OrlaError(
                f"registration {known.name}: {known.quantity} has {estimate.dof:g} degrees of"
                f" freedom over {n} units; build the table again"
            )
    if obstacles:
        return Reading(known, estimate, n, obstacles=tuple(dict.fromkeys(obstacles)))
    failing = counts["n_failing"] or 0
    if not failing:
        return Reading(known, estimate, n)
    mean, low, high = (
        number(f"{name}_without_failing") for name in ("value", "t90_low", "t90_high")
    )
    left = n + (counts["n_without_meaning"] or 0) - failing
    error = (high - low) / 2 / stats.t.ppf(1 - known.alpha, left - 1) if left > 1 else np.nan
    other = Estimate(mean, float(error), left - 1, low, high)
    notes = (f"{failing} of {known.pairs} pairs fail a guard",)
    return Reading(known, estimate, n, {SOUND: other}, notes=notes)


def _of_sample(
    known: ClaimRegistration, row: pd.Series, counts: Mapping[str, int | None]
) -> list[str]:
    """How the row differs from what was registered."""
    found = []
    for column, wanted in (("scale", known.scale), ("unit", known.unit), ("alpha", known.alpha)):
        if row[column] != wanted:
            found.append(
                f'{known.quantity} has {column} "{row[column]}", and "{wanted}" is registered'
            )
    if missing := [name for name, count in counts.items() if count is None]:
        return [*found, f"{', '.join(missing)} of {known.quantity}: no count"]
    pairs = known.pairs if known.unit == PAIR else 1
    run = counts["n_pairs"] + counts["n_without_meaning"]
    if run != pairs:
        found.append(f"{run} pairs: not the {pairs} registered")
    if counts["n_diverged"]:
        found.append(f"{counts['n_diverged']} diverged, and a quantity has no value for them")
    elif counts["n_seeds"] != known.seeds:
        found.append(f"{counts['n_seeds']} seeds: not the {known.seeds} registered")
    return found


def _of_guards(known: ClaimRegistration, row: pd.Series, failing: int | None) -> list[str]:
    """Guards of seeds, or too many pairs that have some."""
    told = guards.split(row["guards"])
    if known.unit != PAIR:
        return told
    if failing is not None and failing > known.max_failing:
        return [
            f"{failing} pairs fail a guard, more than the {known.max_failing} registered as the "
            f"most: {show(told[0]) if told else 'none is told'}"
        ]
    return []
