"""What manipulation checks read: rows that must hold, of quantities with the registered sample."""

from collections.abc import Mapping

import pandas as pd

from orla.prereg import guards, rows
from orla.prereg.claimed import PAIR, QUANTITIES, ClaimRegistration
from orla.prereg.rows import show

_COUNTS = ("n_pairs", "n_without_meaning", "n_seeds", "n_diverged", "n_failing")


def obstacles(known: ClaimRegistration, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """How manipulation checks fail; [] where all hold.

    A quantity that a check reads is held to the registration's own unit, alpha, sample and
    exclusions: one over two pairs that are left would show nothing.
    """
    found = []
    for check in known.checks:
        table = rows.assuming(tables[check.result], check.where, known.assumed)
        found += rows.failures(check, table)
        if check.result == QUANTITIES:
            for _, row in table[table["quantity"].isin(check.where["quantity"])].iterrows():
                own = of_sample(known, row) + of_guards(known, row)
                found += [f'manipulation check "{check.name}": {text}' for text in own]
    return found


def counts_of(known: ClaimRegistration, row: pd.Series) -> dict[str, int | None]:
    """The counts of a quantity's row; None where one is no count.

    Raises
    ------
    OrlaError
        When one is text.
    """
    return {
        name: rows.count(rows.number(row[name], name, known.name, QUANTITIES)) for name in _COUNTS
    }


def of_sample(known: ClaimRegistration, row: pd.Series) -> list[str]:
    """How a quantity's row differs in unit, alpha or sample from what was registered."""
    found = []
    for column, wanted in (("unit", known.unit), ("alpha", known.alpha)):
        if row[column] != wanted:
            found.append(other(row, column, wanted))
    counts = counts_of(known, row)
    if missing := [name for name, count in counts.items() if count is None]:
        return [*found, f"{', '.join(missing)} of {row['quantity']}: no count"]
    pairs = known.pairs if known.unit == PAIR else 1
    run = counts["n_pairs"] + counts["n_without_meaning"]
    if run != pairs:
        found.append(f"{run} pairs: not the {pairs} registered")
    if counts["n_diverged"]:
        found.append(f"{counts['n_diverged']} diverged, and a quantity has no value for them")
    elif counts["n_seeds"] != known.seeds:
        found.append(f"{counts['n_seeds']} seeds: not the {known.seeds} registered")
    return found


def other(row: pd.Series, column: str, wanted: object) -> str:
    """That a quantity's row holds another value than was registered."""
    return f'{row["quantity"]} has {column} "{row[column]}", and "{wanted}" is registered'


def of_guards(known: ClaimRegistration, row: pd.Series) -> list[str]:
    """Guards of a quantity over seeds; over pairs, more failing pairs than registered."""
    told, failing = guards.split(row["guards"]), counts_of(known, row)["n_failing"]
    if known.unit != PAIR:
        return told
    if failing is not None and failing > known.max_failing:
        return [
            f"{failing} pairs fail a guard, more than the {known.max_failing} registered as the "
            f"most: {show(told[0]) if told else 'none is told'}"
        ]
    return []
