"""The evidence on a registration: the rows that it names, and every reason not to judge by them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import agreement, rows
from orla.prereg.registration import (
    COUNTS,
    PAIR,
    QUANTITIES,
    RESULT,
    SEED,
    Reading,
    Registration,
    Value,
    check_columns,
)
from orla.prereg.rows import show
from orla.prereg.rules.base import Estimate

LEAST_RECOVERY = 20.0
"""Recovery in % that the lower 95 % end of each learner of `must_recover` must reach."""

FROZEN = "with diverged models scored as the frozen network"
SOUND = "without the pairs that fail a guard"
_LEARNERS = {"learner_full": "recovery_full", "learner_immediate": "recovery_immediate"}
_BOUND = {
    "config_sha256": "config that its conditions depend on",
    "checks_sha256": "config of the quantities that its manipulation checks read",
    "code_sha256": "task's code",
}
_ROLES = ("estimate", "standard_error", "dof", "low", "high")
_HELDOUT = "heldout"
_NEAR = 1e-6
Tables = Mapping[str, pd.DataFrame]
_NOTHING = Estimate()


@dataclass(frozen=True)
class Evidence:
    """What one reading gave: its estimate over `n` units, and other ways to form it.

    `obstacles` are reasons not to judge by it, `notes` what is to be said beside it.
    """

    reading: Reading
    estimate: Estimate = _NOTHING
    n: int = 0
    others: Mapping[str, Estimate] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
        assumed: Column -> value, for columns that a registration of version 1 does not name, such
            as the task.

    Raises:
        OrlaError: A result or column is missing, several rows fit, a label or unit is not that of
            the columns, or a row's numbers disagree: an estimate outside its interval, an interval
            that is not that of its standard error, a mean over pairs that is not that of their own
            rows.
    """
    check_columns(registration, {name: list(table.columns) for name, table in tables.items()})
    agreement.check(registration)
    if not registration.tested:
        evidence = tuple(
            _interval(each, registration, tables, assumed) for each in registration.criteria
        )
        obstacles = [text for each in evidence for text in each.obstacles]
        obstacles += _checks(registration, tables, assumed)
        obstacles += _guards_of_conditions(registration, tables, assumed)
        return Case(registration, evidence, tuple(obstacles))
    obstacles = _binding(registration, binding)
    obstacles += _checks(registration, tables, registration.assumed)
    [reading] = registration.readings
    table = tables[reading.result]
    row = rows.one_row(table, reading.where, registration.name, reading.result)
    if row is None:
        text = rows.missing(reading.result, reading.where, table)
        return Case(registration, (Evidence(reading),), (text, *obstacles))
    evidence = _mean(registration, reading, row, tables, obstacles)
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
            for _, row in table[table["quantity"].isin(check.where["quantity"])].iterrows():
                problems += [
                    f'manipulation check "{check.name}": {text}'
                    for text in _quantity_problems(registration, row)
                ]
    return problems


def _binding(registration: Registration, binding: Mapping[str, Any] | None) -> list[str]:
    """How the study differs from the config and code that were bound."""
    if not registration.binds:
        return ["it binds neither config nor code"]
    if binding is None:
        return ["the study does not say which config and code it ran"]
    return [
        f"the {text} is not the one registered ({binding.get(name, 'none')[:9]}, registered "
        f"{registration.binds[name][:9]}): run what was registered, or amend the registration"
        for name, text in _BOUND.items()
        if name in registration.binds and binding.get(name) != registration.binds[name]
    ]


def _mean(
    registration: Registration,
    reading: Reading,
    row: pd.Series,
    tables: Tables,
    obstacles: list[str],
) -> Evidence:
    """The mean of a gap or a quantity, and the obstacles after those already met."""

    def number(column: str) -> float:
        return rows.number(row[column], column, registration.name, reading.result)

    what = registration.quantity or reading.columns["estimate"]
    estimate = Estimate(*(number(reading.columns[role]) for role in _ROLES))
    n, pairs = rows.count(number(reading.columns["n"])), None
    if registration.quantity:
        obstacles = [*obstacles, *_scale(registration, row), *_quantity_problems(registration, row)]
    else:
        if registration.unit == PAIR:
            pairs = rows.matching(tables[RESULT[SEED]], reading.where)
        obstacles = [*obstacles, *_gap_problems(registration, row, pairs, n, number)]
    if not np.isfinite(list(vars(estimate).values())).all() or not estimate.dof >= 1:
        obstacles.append(f"{what} has no finite t interval")
    elif not obstacles:
        _check_numbers(registration, reading, estimate, n, pairs)
    if obstacles:
        return Evidence(reading, estimate, n or 0, obstacles=tuple(dict.fromkeys(obstacles)))
    others, notes = _others(registration, row, n or 0, pairs, number)
    return Evidence(reading, estimate, n or 0, others, notes=notes)


def _scale(registration: Registration, row: pd.Series) -> list[str]:
    same = row["scale"] == registration.scale
    return [] if same else [_differs(row, "scale", registration.scale)]


def _differs(row: pd.Series, column: str, wanted: object) -> str:
    return f'{row["quantity"]} has {column} "{row[column]}", and "{wanted}" is registered'


def _quantity_problems(registration: Registration, row: pd.Series) -> list[str]:
    """How a quantity's row differs from what was registered, and the guards that it fails."""
    by_pairs = registration.unit == PAIR
    wanted = (("unit", registration.unit), ("alpha", registration.alpha))
    problems = [_differs(row, column, value) for column, value in wanted if row[column] != value]
    counts = {
        name: rows.count(rows.number(row[name], name, registration.name, QUANTITIES))
        for name in COUNTS
    }
    if absent := [name for name, count in counts.items() if count is None]:
        problems.append(f"{', '.join(absent)} of {row['quantity']}: no count")
    else:
        run, pairs = counts["n_pairs"] + counts["n_without_meaning"], registration.pairs
        if run != pairs:
            problems.append(f"{run} pairs: not the {pairs} registered")
        if counts["n_diverged"]:
            text = f"{counts['n_diverged']} diverged, and a quantity has no value for them"
            problems.append(text)
        elif counts["n_seeds"] != registration.seeds:
            text = f"{counts['n_seeds']} seeds: not the {registration.seeds} registered"
            problems.append(text)
    guards, failing = rows.guards(row["guards"]), counts["n_failing"]
    if not by_pairs:
        return problems + guards
    if failing is not None and failing > registration.max_failing:
        first = show(guards[0]) if guards else "none is told"
        problems.append(_too_many(failing, registration, first))
    return problems


def _too_many(failing: int, registration: Registration, first: str) -> str:
    return (
        f"{failing} pairs fail a guard, more than the {registration.max_failing} registered as "
        f"the most: {first}"
    )


def _gap_problems(
    registration: Registration,
    row: pd.Series,
    pairs: pd.DataFrame | None,
    n: int | None,
    number: Any,
) -> list[str]:
    """How a gap's row differs from what was registered, and the guards that it fails."""
    problems, minus = [], (row["learner_full"], row["learner_immediate"])
    if minus != registration.minus:
        problems.append(
            f"{registration.comparison} is {' minus '.join(minus)}, and "
            f"{' minus '.join(registration.minus)} is registered"
        )
    if row["alpha"] != registration.alpha:
        problems.append(_other_alpha(RESULT[registration.unit], row["alpha"], registration.alpha))
    # Two learners that both fail would agree.
    for learner, measure in _LEARNERS.items():
        if row[learner] in registration.must_recover:
            low = number(f"{measure}_low_percent")
            if not low >= LEAST_RECOVERY:
                problems.append(
                    f"{row[learner]} is not shown to adapt: the lower 95 % end of its recovery is "
                    f"{show(low)} %, below {LEAST_RECOVERY:g} %"
                )
    if pairs is None:
        problems += [*rows.guards(row["guards"]), *_seeds(registration, row, "")]
    else:
        problems += _pairs(registration, row, pairs, n, number)
    most, diverged = registration.max_diverged, rows.count(number("n_diverged"))
    if diverged is not None and diverged > most:
        problems.append(f"{diverged} diverged, more than the {most} registered as the most")
    return problems


def _other_alpha(result: str, alpha: object, registered: float) -> str:
    return (
        f"{result} was made at alpha {show(alpha)}, and {registered:g} is registered: set "
        "statistics.alpha"
    )


def _seeds(registration: Registration, row: pd.Series, place: str) -> list[str]:
    names = ("n_seeds", "n_diverged")
    result = RESULT[registration.unit]
    n, diverged = (
        rows.count(rows.number(row[name], name, registration.name, result)) for name in names
    )
    if n is None or diverged is None:
        return [f"{place}n_seeds or n_diverged is no count ({row['n_seeds']}, {row['n_diverged']})"]
    if n + diverged != registration.seeds:
        return [
            f"{place}{n} seeds and {diverged} diverged: not the {registration.seeds} registered"
        ]
    return []


def _pairs(
    registration: Registration, row: pd.Series, pairs: pd.DataFrame, n: int | None, number: Any
) -> list[str]:
    """How the pairs differ from those registered, and whether too many of them fail a guard."""
    problems = []
    if n is None:
        problems.append(f"n_pairs is {row['n_pairs']}, no count")
    if len(pairs) != registration.pairs:
        problems.append(f"{len(pairs)} pairs: not the {registration.pairs} registered")
    for _, pair in pairs.iterrows():
        problems += _seeds(registration, pair, f"pair {pair['pair']}: ")
    finite = np.isfinite(pairs["gap_pp"].to_numpy(float))
    failing = np.array([bool(rows.guards(text)) for text in pairs["guards"]], dtype=bool)
    if not problems:
        held = [rows.count(number(name)) for name in ("n_pairs", "n_failing", "n_diverged")]
        of_pairs = list(map(int, (finite.sum(), failing.sum(), pairs["n_diverged"].sum())))
        if held != of_pairs:
            problems.append(
                "over_pairs and estimates disagree on pairs, failing pairs or diverged models "
                f"({held}, {of_pairs}): build both again"
            )
    bad = pairs[failing | ~finite]
    if len(bad) > registration.max_failing:
        first = bad.iloc[0]
        text = f"{first['pair']}: {', '.join(rows.guards(first['guards']))}"
        problems.append(_too_many(len(bad), registration, text))
    return problems


def _check_numbers(
    registration: Registration,
    reading: Reading,
    estimate: Estimate,
    n: int | None,
    pairs: pd.DataFrame | None,
) -> None:
    """Refuse an estimate that disagrees with its interval, its units or the pairs' own rows."""
    place, quantity = f"registration {registration.name}: {reading.result}", registration.quantity
    what = quantity or reading.columns["estimate"]
    if not estimate.low <= estimate.mean <= estimate.high:
        raise OrlaError(
            f"{place} has {what} {show(estimate.mean)} outside its own interval "
            f"[{show(estimate.low)}, {show(estimate.high)}]; build the table again"
        )
    half = stats.t.ppf(1 - registration.alpha, estimate.dof) * estimate.standard_error
    ends = [estimate.mean - half, estimate.mean + half]
    if not np.allclose([estimate.low, estimate.high], ends, rtol=_NEAR, atol=_NEAR):
        raise OrlaError(
            f"{place} has the interval [{show(estimate.low)}, {show(estimate.high)}], and its "
            f"standard error gives [{show(ends[0])}, {show(ends[1])}]; build the table again"
        )
    if (quantity or n is not None) and estimate.dof > (n or 0) - 1:
        name = f"registration {registration.name}: {quantity}" if quantity else place
        raise OrlaError(
            f"{name} has {estimate.dof:g} degrees of freedom over {n or 0} units; build "
            f"{'the table' if quantity else 'it'} again"
        )
    mean = estimate.mean if pairs is None else float(pairs["gap_pp"].mean())
    if not np.isclose(estimate.mean, mean, rtol=_NEAR, atol=_NEAR):
        raise OrlaError(
            f"{place} has gap_pp {show(estimate.mean)}, and the mean of its pairs in estimates is "
            f"{show(mean)}; build both again"
        )


def _others(
    registration: Registration, row: pd.Series, n: int, pairs: pd.DataFrame | None, number: Any
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """Other ways to form the estimate, where some model diverged or some pair fails a guard."""
    others, notes, mean_of = {}, [], "value" if registration.quantity else "gap"

    def other(way: str, pattern: str, units: int) -> None:
        """Add an estimate that is given by its mean and interval over `units`."""
        names = (pattern.format(name) for name in (mean_of, "t90_low", "t90_high"))
        mean, low, high = map(number, names)
        error = np.nan
        if units > 1:
            error = float((high - low) / 2 / stats.t.ppf(1 - registration.alpha, units - 1))
        others[way] = Estimate(mean, error, units - 1, low, high)

    diverged = 0 if registration.quantity else int(row["n_diverged"])
    if diverged:
        units = (
            registration.seeds if pairs is None else int(np.isfinite(pairs["gap_frozen_pp"]).sum())
        )
        other(FROZEN, "{}_frozen_pp", units)
        notes.append(f"{diverged} diverged and left out")
    by_pairs = pairs is not None or registration.quantity
    if by_pairs and (failing := int(row["n_failing"])):
        if pairs is None:
            units = n + int(row["n_without_meaning"]) - failing
            other(SOUND, "{}_without_failing", units)
        else:
            sound = np.isfinite(pairs["gap_pp"]) & (pairs["guards"] == "")
            other(SOUND, "{}_without_failing_pp", int(sound.sum()))
        notes.append(f"{failing} of {registration.pairs} pairs fail a guard")
    return others, tuple(notes)


def _interval(
    reading: Reading, registration: Registration, tables: Tables, assumed: Mapping[str, Value]
) -> Evidence:
    """The interval of a criterion of version 1."""
    name, result, columns = registration.name, reading.result, reading.columns
    table = rows.assuming(tables[result], reading.where, assumed)
    row = rows.one_row(table, reading.where, name, result)
    if row is None:
        return Evidence(reading, obstacles=(rows.missing(result, reading.where, table),))
    roles = ("estimate", "low", "high", "n")
    mean, low, high, n = (
        rows.number(row[columns[role]], columns[role], name, result) for role in roles
    )
    place = f"registration {name}: {result}"
    if low > high:
        raise OrlaError(
            f"{place} has {columns['low']} above {columns['high']}; the two columns are swapped"
        )
    what, count = columns["estimate"], rows.count(n)
    obstacles = [
        *_units(reading, registration, row, count),
        *_compared(reading, registration, row, table),
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
    return Evidence(reading, estimate, count or 0, obstacles=tuple(obstacles))


def _units(
    reading: Reading, registration: Registration, row: pd.Series, n: int | None
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
    diverged = rows.count(rows.number(row[column], column, registration.name, ""))
    if diverged is None:
        return [*problems, f"{column} is {row[column]}, no count"]
    if n + diverged != size:
        problems.append(f"n = {n} and {diverged} diverged: not the {size} registered")
    most = registration.max_diverged
    if diverged > most:
        problems.append(f"{diverged} diverged, more than the {most} registered as the most")
    return problems


def _compared(
    reading: Reading, registration: Registration, row: pd.Series, table: pd.DataFrame
) -> list[str]:
    """How the row's alpha and learners differ from those registered in version 1."""
    source: Any = table.attrs.get("provenance", {}).get("config", {}).get("statistics", {})
    alpha, wanted = row.get("alpha", source.get("alpha", agreement.ALPHA)), agreement.ALPHA
    problems = [_other_alpha(reading.result, alpha, wanted)] if alpha != wanted else []
    learners = registration.conditions.get("learner")
    learners = [learners] if isinstance(learners, str) else learners
    for column in _LEARNERS:
        if learners and column in row and row[column] not in learners:
            problems.append(
                f"{reading.result} compares {row[column]}, and {' and '.join(learners)} are "
                "registered"
            )
    return problems


def _guards_of_conditions(
    registration: Registration, tables: Tables, assumed: Mapping[str, Value]
) -> list[str]:
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
    inside = table[list(_LEARNERS)].isin(learners)
    both = len(learners) > 1
    table = table[inside.all(axis=1) if both else inside.any(axis=1)]
    guards = [
        (f"{row['optimizer']}, {row['comparison']}", rows.guards(row["guards"]))
        for row in table.to_dict("records")
    ]
    if both:
        return [f"{row}: {text}" for row, texts in guards for text in texts]
    each = [set(texts) for _, texts in guards]
    return sorted(set.intersection(*each)) if each else []
