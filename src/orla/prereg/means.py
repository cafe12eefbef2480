"""Means of gaps and quantities, and every reason not to judge a claim by them."""

import numpy as np
import pandas as pd
import scipy  # its rooms load when they are first used
from numpy.typing import ArrayLike

from orla.errors import OrlaError
from orla.prereg import rows
from orla.prereg.registration import COUNTS, DRIFTING, RESULT, SEED, SOUND, Registration
from orla.prereg.rows import LEARNERS, Evidence, Row, Tables, value_text
from orla.prereg.rules import Estimate
from orla.results.scales import PP, SCALES
from orla.statistics.means import moments

LEAST_RECOVERY = 20.0
"""Recovery in %, over the better of the frozen network and the best constant, that the lower 95 %
end of each learner of `must_recover` must reach."""

_FROZEN = "frozen"
_ROLES = ("estimate", "standard_error", "dof", "low", "high")
_VAGUE = (
    "recovery has no meaning, because the frozen network is about as good as the reference, or "
    "there is none: choose a pair that drifts more, or register the gap of errors"
)
_NEAR = 1e-6


def mean_evidence(
    registration: Registration, row: Row, tables: Tables, obstacles: list[str]
) -> Evidence:
    """The evidence of a mean of a gap or a quantity, with obstacles after those already met."""
    query = registration.query
    estimate = Estimate(*(row.number(query.columns[role]) for role in _ROLES))
    n, pairs = row.count(query.columns["n"]) or 0, None
    if registration.by_pairs:
        pairs = rows.matching_rows(tables[registration.pair_result], query.where)
    if registration.quantity:
        obstacles = obstacles + quantity_problems(registration, row, scale=registration.scale)
    else:
        obstacles = obstacles + _gap_problems(registration, row, pairs)
    if not np.isfinite([*vars(estimate).values()]).all() or estimate.dof < 1:
        obstacles.append(f"{registration.measure} has no finite t interval")
    elif not obstacles:
        _check_estimate_consistency(registration, estimate, n, pairs)
    if obstacles:
        return Evidence(registration, estimate, n, obstacles=tuple(dict.fromkeys(obstacles)))
    others, leave_one_out = _variant_estimates(registration, row, n, pairs), {}
    if pairs is not None:
        values = pairs.set_index("pair")[query.columns["estimate"]].astype(float)
        if not (drifts := pairs_with_finite_recovery(registration, row, pairs)).all():
            others["over the pairs that drift"] = _mean_estimate(registration, values[drifts])
        values = values[np.isfinite(values)]
        for i, pair in enumerate(values.index if len(values) > 2 else ()):
            others_alone = np.delete(values.to_numpy(), i)
            leave_one_out[str(pair)] = _mean_estimate(registration, others_alone)
    notes = []
    if not registration.quantity and row["n_diverged"]:
        notes.append(f"{int(row['n_diverged'])} diverged and left out")
    if registration.by_pairs and row["n_failing"]:
        notes.append(f"{int(row['n_failing'])} of {registration.pairs} pairs fail a guard")
    return Evidence(registration, estimate, n, others, leave_one_out, notes=tuple(notes))


def _mean_estimate(registration: Registration, values: ArrayLike) -> Estimate:
    """The mean of the finite values of pairs, as an estimate."""
    one = moments(values)
    ends = one.interval(1 - 2 * registration.alpha)
    return Estimate(one.mean, one.standard_error, one.dof, *ends)


def pairs_with_finite_recovery(
    registration: Registration, row: Row, pairs: pd.DataFrame
) -> np.ndarray:
    """Pairs in which every learner that must recover has a finite recovery: bool (pairs,).

    In a pair that hardly drifts none has one, and learners agree whatever they do. A registration
    that was bound before this part existed counts such pairs.
    """
    learners = registration.must_recover if DRIFTING in registration.binds.get("parts", {}) else ()
    names = [f"{m}_percent" for at, m in LEARNERS.items() if learners and row[at] in learners]
    return np.isfinite(pairs[names].to_numpy(float)).all(axis=1)


def quantity_problems(registration: Registration, row: Row, **expected_columns: str) -> list[str]:
    """How a quantity's row differs from what was registered, and the guards that it fails.

    `expected_columns` are columns beside unit and alpha that must be as they are given.
    """
    expected_values = expected_columns | {"unit": registration.unit, "alpha": registration.alpha}
    problems = [
        f'{row["quantity"]} has {column} "{row[column]}", and "{value}" is registered'
        for column, value in expected_values.items()
        if row[column] != value
    ]
    counts = {name: row.count(name) for name in COUNTS}
    if absent := [name for name, count in counts.items() if count is None]:
        problems.append(f"{', '.join(absent)} of {row['quantity']}: no count")
    else:
        run = counts["n_pairs"] + counts["n_without_meaning"]
        if run != registration.pairs:
            problems.append(f"{run} pairs: not the {registration.pairs} registered")
        if n_diverged := counts["n_diverged"]:
            problems.append(f"{n_diverged} diverged, and a quantity has no value for them")
        elif counts["n_seeds"] != registration.seeds:
            problems.append(f"{counts['n_seeds']} seeds: not the {registration.seeds} registered")
    if not registration.by_pairs:
        return problems + row.guard_failures
    first = row.guard_failures[0] if row.guard_failures else _VAGUE
    return problems + _failing_pair_problems(registration, counts["n_failing"] or 0, first)


def _failing_pair_problems(registration: Registration, failing_pairs: int, first: str) -> list[str]:
    """That too many pairs fail a guard, the `first` of them in words; [] if not."""
    if failing_pairs <= registration.max_failing:
        return []
    return [
        f"{failing_pairs} pairs fail a guard, more than the {registration.max_failing} registered "
        f"as the most: {first}"
    ]


def _gap_problems(registration: Registration, row: Row, pairs: pd.DataFrame | None) -> list[str]:
    """How a gap's row differs from what was registered, and the guards that it fails."""
    problems, minus = [], tuple(row[column] for column in LEARNERS)
    if minus != registration.minus:
        problems.append(
            f"{registration.comparison} is {' minus '.join(minus)}, and "
            f"{' minus '.join(registration.minus)} is registered"
        )
    if (alpha := row["alpha"]) != registration.alpha:
        problems.append(
            f"{row.result} was made at alpha {value_text(alpha)}, and {registration.alpha:g} is "
            "registered: set statistics.alpha"
        )
    # Two learners that both fail would agree.
    for learner, measure in LEARNERS.items():
        if row[learner] not in registration.must_recover:
            continue
        low, fails = row.number(f"{measure}_low_percent"), f"{row[learner]} is not shown to adapt"
        if np.isnan(low):
            problems.append(f"{fails}: its recovery has no value here")
        elif low < LEAST_RECOVERY:
            problems.append(
                f"{fails}: the lower 95 % end of its recovery over the better of the frozen "
                f"network and the best constant is {value_text(low)} %, below {LEAST_RECOVERY:g} %"
            )
    if pairs is None:
        problems += [*row.guard_failures, *_seed_problems(registration, row, "")]
        if registration.scale == PP.unit and not row["has_meaning"]:
            problems.append(f"{row['pair']}: {_VAGUE}")
    else:
        problems += _pair_problems(registration, row, pairs)
    most, n_diverged = registration.max_diverged, row.count("n_diverged") or 0
    if n_diverged > most:
        problems.append(f"{n_diverged} diverged, more than the {most} registered as the most")
    return problems


def _seed_problems(registration: Registration, row: Row, place: str) -> list[str]:
    names = (SCALES[registration.scale].count.format(SEED), "n_diverged")
    n, n_diverged = map(row.count, names)
    if n is None or n_diverged is None:
        values = ", ".join(str(row[name]) for name in names)
        return [f"{place}{' or '.join(names)} is no count ({values})"]
    if n + n_diverged == registration.seeds:
        return []
    return [f"{place}{n} seeds and {n_diverged} diverged: not the {registration.seeds} registered"]


def _pair_problems(registration: Registration, row: Row, pairs: pd.DataFrame) -> list[str]:
    """How the pairs differ from those registered, and whether too many of them fail a guard."""
    problems, columns = [], registration.query.columns
    if row.count(columns["n"]) is None:
        problems.append(f"{columns['n']} is {row[columns['n']]}, no count")
    if len(pairs) != registration.pairs:
        problems.append(f"{len(pairs)} pairs: not the {registration.pairs} registered")
    each = [Row(registration.name, RESULT[SEED], values) for _, values in pairs.iterrows()]
    for pair in each:
        problems += _seed_problems(registration, pair, f"pair {pair['pair']}: ")
    finite = np.isfinite(pairs[columns["estimate"]].to_numpy(float))
    drifts = pairs_with_finite_recovery(registration, row, pairs)
    failure = np.array([bool(pair.guard_failures) for pair in each], dtype=bool)
    if not problems:
        row_counts = [row.count(name) for name in (columns["n"], "n_failing", "n_diverged")]
        pair_counts = [int(sum(each)) for each in (finite, failure, pairs["n_diverged"])]
        if row_counts != pair_counts:
            problems.append(
                "over_pairs and estimates disagree on pairs, failing pairs or diverged models "
                f"({row_counts}, {pair_counts}): build both again"
            )
    bad = [pair for pair, unsound in zip(each, failure | ~finite | ~drifts, strict=True) if unsound]
    first = f"{bad[0]['pair']}: {', '.join(bad[0].guard_failures) or _VAGUE}" if bad else ""
    return problems + _failing_pair_problems(registration, len(bad), first)


def _check_estimate_consistency(
    registration: Registration, estimate: Estimate, n: int, pairs: pd.DataFrame | None
) -> None:
    """Refuse an estimate that disagrees with its interval, its units or the pairs' own rows."""
    query, what = registration.query, registration.measure
    half = scipy.stats.t.ppf(1 - registration.alpha, estimate.dof) * estimate.standard_error
    ends, mean = [estimate.low, estimate.high], estimate.mean
    recomputed_ends, pair_mean = [mean - half, mean + half], mean
    if not (registration.quantity or pairs is None):
        pair_mean = float(pairs[query.columns["estimate"]].mean())
    if not np.allclose(ends, recomputed_ends, rtol=_NEAR, atol=_NEAR):
        has, gives = (", ".join(map(value_text, each)) for each in (ends, recomputed_ends))
        wrong = f" has the interval [{has}], and its standard error gives [{gives}]"
    elif estimate.dof > n - 1:
        wrong = f": {what} has {estimate.dof:g} degrees of freedom over {n} units"
    elif not np.isclose(mean, pair_mean, rtol=_NEAR, atol=_NEAR):
        wrong = f" has {what} {value_text(mean)}, and the mean of its pairs in estimates is "
        wrong += value_text(pair_mean)
    else:
        return
    table = f"registration {registration.name}: {query.result}"
    raise OrlaError(f"{table}{wrong}; build the tables again")


def _variant_estimates(
    registration: Registration, row: Row, n: int, pairs: pd.DataFrame | None
) -> dict[str, Estimate]:
    """Other ways to form the estimate, where some model diverged or some pair fails a guard."""
    query = registration.query
    units = dict.fromkeys(query.variants, n)
    is_skipped = {SOUND: not (registration.by_pairs and row["n_failing"])}
    is_skipped[_FROZEN] = not row["n_diverged"]
    if registration.quantity:
        units[SOUND] = n + int(row["n_without_meaning"]) - int(row["n_failing"])
    elif pairs is None:
        units[_FROZEN] = registration.seeds
    else:
        pair_values = {n: pairs.get(each.columns[0]) for n, each in query.variants.items()}
        pair_values[SOUND] = pairs[query.columns["estimate"]][pairs["guards"] == ""]
        units = {name: int(np.isfinite(gaps).sum()) for name, gaps in pair_values.items()}
    others: dict[str, Estimate] = {}
    for name, variant in query.variants.items():
        mean, low, high = map(row.number, variant.columns)
        # A runner-up that is another rate nowhere leaves the estimate as it is.
        if is_skipped.get(name, not np.isfinite(mean)):
            continue
        error, dof = np.nan, units[name] - 1
        if dof > 0:
            error = float((high - low) / 2 / scipy.stats.t.ppf(1 - registration.alpha, dof))
        words = f"{variant.words} (the highest)" if variant.words in others else variant.words
        others[words] = Estimate(mean, error, dof, low, high)
    return others
