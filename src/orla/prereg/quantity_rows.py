"""What a registration about a quantity reads: its row, and every reason not to judge it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import check_rows, rows
from orla.prereg.claim_rows import SOUND, Estimate, Reading, near_its_interval, of_binding
from orla.prereg.claimed import PAIR, QUANTITIES, ClaimRegistration
from orla.prereg.registration import check_columns


def read(
    known: ClaimRegistration,
    tables: Mapping[str, pd.DataFrame],
    binding: Mapping[str, str] | None,
) -> Reading:
    """Read the row of a quantity; arguments and errors as those of `claim_rows.read`."""
    check_columns(known, {name: list(table.columns) for name, table in tables.items()})
    obstacles = of_binding(known, binding)
    obstacles += check_rows.obstacles(known, tables)
    table = tables[QUANTITIES]
    row = rows.one_row(table, known.where, known.name, QUANTITIES)
    if row is None:
        text = rows.missing(QUANTITIES, known.where, table)
        return Reading(known, obstacles=(text, *obstacles))

    def number(column: str) -> float:
        return rows.number(row[column], column, known.name, QUANTITIES)

    counts = check_rows.counts_of(known, row)
    names = ("value", "standard_error", "dof", "t90_low", "t90_high")
    estimate = Estimate(*(number(name) for name in names))
    if row["scale"] != known.scale:
        obstacles.append(check_rows.other(row, "scale", known.scale))
    obstacles += [*check_rows.of_sample(known, row), *check_rows.of_guards(known, row)]
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
