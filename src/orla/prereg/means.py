"""Means of gaps and quantities, and every reason not to judge a claim by them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import rows
from orla.prereg.registration import (
    COUNTS,
    OTHERS,
    PAIR,
    QUANTITIES,
    QUANTITY_PAIRS,
    RESULT,
    SEED,
    Reading,
    Registration,
    quantity_ways,
    ways,
)
from orla.prereg.rows import LEARNERS, Evidence, show
from orla.prereg.rules.base import Estimate
from orla.results.scales import PP, SCALES, WAYS
from orla.statistics.means import moments

LEAST_RECOVERY = 20.0
"""Recovery in %, over the better of the frozen network and the best constant, that the lower 95 %
end of each learner of `must_recover` must reach."""

_SOUND, _FROZEN = "without_failing", "frozen"
_ROLES = ("estimate", "standard_error", "dof", "low", "high")
_VAGUE = (
    "recovery has no meaning, because the frozen network is about as good as the reference, or "
    "there is none: choose a pair that drifts more, or register the gap of errors"
)
_NEAR = 1e-6


def read(
    registration: Registration,
    reading: Reading,
    row: pd.Series,
    tables: Mapping[str, pd.DataFrame],
    obstacles: list[str],
) -> Evidence:
    """The mean of a gap or a quantity, and the obstacles after those already met."""
    mean, by_pairs = reading.columns["estimate"], registration.unit == PAIR

    def number(column: str) -> float:
        return rows.number(row[column], column, registration.name, reading.result)

    what = registration.quantity or reading.columns["estimate"]
    estimate = Estimate(*(number(reading.columns[role]) for role in _ROLES))
    n, pairs = rows.count(number(reading.columns["n"])), None
    if registration.quantity:
        obstacles = [*obstacles, *_scale(registration, row), *quantity_problems(registration, row)]
        each = rows.matching(tables[QUANTITY_PAIRS], reading.where) if by_pairs else None
        mean = "value"
    else:
        if by_pairs:
            pairs = rows.matching(tables[RESULT[SEED]], reading.where)
        obstacles = [*obstacles, *_gap_problems(registration, row, pairs, n, number)]
        each = pairs
    if not np.isfinite(list(vars(estimate).values())).all() or not estimate.dof >= 1:
        obstacles.append(f"{what} has no finite t interval")
    elif not obstacles:
        _check_numbers(registration, reading, estimate, n, pairs)
    if obstacles:
        return Evidence(reading, estimate, n or 0, obstacles=tuple(dict.fromkeys(obstacles)))
    others, notes = _others(registration, row, n or 0, pairs, number)
    left_out = {} if each is None else _left_out(registration, each, mean)
    return Evidence(reading, estimate, n or 0, others, left_out, notes=notes)


def _left_out(registration: Registration, pairs: pd.DataFrame, column: str) -> dict[str, Estimate]:
    """The estimate without each pair in turn, where there are three."""
    values = pairs.set_index("pair")[column].astype(float)
    values = values[np.isfinite(values)]
    if len(values) < 3:
        return {}
    rest = {pair: moments(values.drop(pair)) for pair in values.index}
    level = 1 - 2 * registration.alpha
    return {
        str(pair): Estimate(one.mean, one.standard_error, one.dof, *one.interval(level))
        for pair, one in rest.items()
    }


def _scale(registration: Registration, row: pd.Series) -> list[str]:
    same = row["scale"] == registration.scale
    return [] if same else [_differs(row, "scale", registration.scale)]


def _differs(row: pd.Series, column: str, wanted: object) -> str:
    return f'{row["quantity"]} has {column} "{row[column]}", and "{wanted}" is registered'


def quantity_problems(registration: Registration, row: pd.Series) -> list[str]:
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
        first = show(guards[0]) if guards else _VAGUE
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
        problems.append(
            rows.other_alpha(RESULT[registration.unit], row["alpha"], registration.alpha)
        )
    # Two learners that both fail would agree.
    for learner, measure in LEARNERS.items():
        if row[learner] in registration.must_recover:
            low = number(f"{measure}_low_percent")
            if low != low:
                problems.append(
                    f"{row[learner]} is not shown to adapt: its recovery has no value here"
                )
            elif low < LEAST_RECOVERY:
                problems.append(
                    f"{row[learner]} is not shown to adapt: the lower 95 % end of its recovery is "
                    f"{show(low)} %, below {LEAST_RECOVERY:g} %"
                )
    if pairs is None:
        problems += [*rows.guards(row["guards"]), *_seeds(registration, row, "")]
    else:
        problems += _pairs(registration, row, pairs, n, number)
    if pairs is None and registration.scale == PP.unit and not row["has_meaning"]:
        problems.append(f"{row['pair']}: {_VAGUE}")
    most, diverged = registration.max_diverged, rows.count(number("n_diverged"))
    if diverged is not None and diverged > most:
        problems.append(f"{diverged} diverged, more than the {most} registered as the most")
    return problems


def _seeds(registration: Registration, row: pd.Series, place: str) -> list[str]:
    names = (SCALES[registration.scale].count.format(SEED), "n_diverged")
    result = RESULT[registration.unit]
    n, diverged = (
        rows.count(rows.number(row[name], name, registration.name, result)) for name in names
    )
    if n is None or diverged is None:
        return [
            f"{place}{' or '.join(names)} is no count ({', '.join(str(row[m]) for m in names)})"
        ]
    if n + diverged != registration.seeds:
        return [
            f"{place}{n} seeds and {diverged} diverged: not the {registration.seeds} registered"
        ]
    return []


def _pairs(
    registration: Registration, row: pd.Series, pairs: pd.DataFrame, n: int | None, number: Any
) -> list[str]:
    """How the pairs differ from those registered, and whether too many of them fail a guard."""
    problems, scale = [], SCALES[registration.scale]
    column = scale.count.format(PAIR)
    if n is None:
        problems.append(f"{column} is {row[column]}, no count")
    if len(pairs) != registration.pairs:
        problems.append(f"{len(pairs)} pairs: not the {registration.pairs} registered")
    for _, pair in pairs.iterrows():
        problems += _seeds(registration, pair, f"pair {pair['pair']}: ")
    finite = np.isfinite(pairs[scale.mean()].to_numpy(float))
    failing = np.array([bool(rows.guards(text)) for text in pairs["guards"]], dtype=bool)
    if not problems:
        held = [rows.count(number(name)) for name in (column, "n_failing", "n_diverged")]
        of_pairs = list(map(int, (finite.sum(), failing.sum(), pairs["n_diverged"].sum())))
        if held != of_pairs:
            problems.append(
                "over_pairs and estimates disagree on pairs, failing pairs or diverged models "
                f"({held}, {of_pairs}): build both again"
            )
    bad = pairs[failing | ~finite]
    if len(bad) > registration.max_failing:
        first = bad.iloc[0]
        text = f"{first['pair']}: {', '.join(rows.guards(first['guards'])) or _VAGUE}"
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
    mean = estimate.mean if pairs is None else float(pairs[reading.columns["estimate"]].mean())
    if not np.isclose(estimate.mean, mean, rtol=_NEAR, atol=_NEAR):
        raise OrlaError(
            f"{place} has {what} {show(estimate.mean)}, and the mean of its pairs in estimates is "
            f"{show(mean)}; build both again"
        )


def _others(
    registration: Registration, row: pd.Series, n: int, pairs: pd.DataFrame | None, number: Any
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """Other ways to form the estimate, where some model diverged or some pair fails a guard."""
    alpha, notes = registration.alpha, []
    if registration.quantity:
        columns, texts, diverged = quantity_ways(), OTHERS, 0
        units = dict.fromkeys(columns, n)
        units[_SOUND] = n + int(row["n_without_meaning"]) - int(row["n_failing"])
    else:
        scale = SCALES[registration.scale]
        columns, diverged = ways(scale, registration.unit), int(row["n_diverged"])
        texts = {way: f"with {WAYS[way]}" for way in columns} | {_SOUND: OTHERS[_SOUND]}
        units = dict.fromkeys(columns, n)
        units[_FROZEN] = registration.seeds
        if pairs is not None:
            sound = pairs["guards"] == ""
            for way, (mean, *_) in columns.items():
                gaps = pairs[scale.mean()].where(sound) if way == _SOUND else pairs[mean]
                units[way] = int(np.isfinite(gaps).sum())
    failing = int(row["n_failing"]) if registration.unit == PAIR else 0
    skipped = {_FROZEN: not diverged, _SOUND: not failing}
    others: dict[str, Estimate] = {}
    for way, names in columns.items():
        mean, low, high = map(number, names)
        # A runner-up that is another rate nowhere leaves the estimate as it is.
        if skipped.get(way, not np.isfinite(mean)):
            continue
        error = np.nan
        if units[way] > 1:
            error = float((high - low) / 2 / stats.t.ppf(1 - alpha, units[way] - 1))
        text = texts[way] if texts[way] not in others else f"{texts[way]} (the highest)"
        others[text] = Estimate(mean, error, units[way] - 1, low, high)
    if diverged:
        notes.append(f"{diverged} diverged and left out")
    if failing:
        notes.append(f"{failing} of {registration.pairs} pairs fail a guard")
    return others, tuple(notes)
