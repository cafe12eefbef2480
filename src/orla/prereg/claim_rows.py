"""What a registration of version 2 reads: its row, and every reason not to judge it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import check_rows, guards, rows
from orla.prereg.claimed import PAIR, RESULT, SEED, ClaimRegistration
from orla.prereg.registration import check_columns
from orla.prereg.rows import show

LEAST_RECOVERY = 20.0
"""Recovery in % that the lower 95 % end of each learner of `must_recover` must reach."""

FROZEN = "with diverged models scored as the frozen network"
SOUND = "without the pairs that fail a guard"
_LEARNERS = {"learner_full": "recovery_full", "learner_immediate": "recovery_immediate"}
_NEAR = 1e-6


@dataclass(frozen=True)
class Estimate:
    """A mean in pp with its standard error, degrees of freedom and 1 - 2 alpha t interval."""

    mean: float = np.nan
    standard_error: float = np.nan
    dof: float = np.nan
    low: float = np.nan
    high: float = np.nan


@dataclass(frozen=True)
class Reading:
    """A registration's estimate, over `n` units, and other ways to form it; or its obstacles."""

    registration: ClaimRegistration
    estimate: Estimate = Estimate()
    n: int = 0
    others: Mapping[str, Estimate] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read(
    known: ClaimRegistration,
    tables: Mapping[str, pd.DataFrame],
    binding: Mapping[str, str] | None,
) -> Reading:
    """Read the row that a registration is about.

    Parameters
    ----------
    known
        The registration.
    tables
        Result -> its table.
    binding
        What `binding.of` says of the study, or None.

    Raises
    ------
    OrlaError
        When a result or column is missing, several rows fit, or a row's numbers disagree: an
        estimate outside its interval, an interval that is not that of its standard error, a mean
        over pairs that is not that of the pairs' own rows.
    """
    check_columns(known, {name: list(table.columns) for name, table in tables.items()})
    obstacles = of_binding(known, binding)
    table = tables[known.result]
    row = rows.one_row(table, known.where, known.name, known.result)
    obstacles += check_rows.obstacles(known, tables)
    if row is None:
        text = rows.missing(known.result, known.where, table)
        return Reading(known, obstacles=(text, *obstacles))
    names = ("gap_pp", "standard_error_pp", "dof", "t90_low_pp", "t90_high_pp")
    estimate = Estimate(*(_number(row, name, known) for name in names))
    pairs = rows.matching(tables[RESULT[SEED]], known.where) if known.unit == PAIR else None
    obstacles += _of_conditions(known, row) + _of_recovery(known, row)
    n = _count(row, "n_pairs" if known.unit == PAIR else "n_seeds", known)
    if pairs is None:
        obstacles += guards.split(row["guards"]) + _of_seeds(known, row, "")
    else:
        obstacles += _of_pairs(known, row, pairs, n)
    most, diverged = known.max_diverged, _count(row, "n_diverged", known)
    if diverged is not None and diverged > most:
        obstacles.append(f"{diverged} diverged, more than the {most} registered as the most")
    if not np.isfinite(list(vars(estimate).values())).all() or not estimate.dof >= 1:
        obstacles.append("gap_pp has no finite t interval")
    elif not obstacles:
        _check_numbers(known, estimate, n, pairs)
    if obstacles:
        return Reading(known, estimate, n or 0, obstacles=tuple(dict.fromkeys(obstacles)))
    others, notes = _others(known, row, pairs)
    return Reading(known, estimate, n or 0, others, notes=notes)


def of_binding(known: ClaimRegistration, binding: Mapping[str, str] | None) -> list[str]:
    """How the study differs from the config and code that were bound."""
    if not known.binds:
        return ["it binds neither config nor code"]
    if binding is None:
        return ["the study does not say which config and code it ran"]
    names = {
        "config_sha256": "config that its conditions depend on",
        "checks_sha256": "config of the quantities that its manipulation checks read",
        "code_sha256": "task's code",
    }
    return [
        f"the {text} is not the one registered ({binding.get(name, 'none')[:9]}, registered "
        f"{known.binds[name][:9]}): run what was registered, or amend the registration"
        for name, text in names.items()
        if name in known.binds and binding.get(name) != known.binds[name]
    ]


def _of_conditions(known: ClaimRegistration, row: pd.Series) -> list[str]:
    found = []
    minus = (row["learner_full"], row["learner_immediate"])
    if minus != known.minus:
        found.append(
            f"{known.comparison} is {' minus '.join(minus)}, and {' minus '.join(known.minus)} is "
            "registered"
        )
    if row["alpha"] != known.alpha:
        found.append(
            f"{known.result} was made at alpha {show(row['alpha'])}, and {known.alpha:g} is "
            "registered: set statistics.alpha"
        )
    return found


def _of_recovery(known: ClaimRegistration, row: pd.Series) -> list[str]:
    """The built-in manipulation check: two learners that both fail would agree."""
    found = []
    for learner, measure in _LEARNERS.items():
        if row[learner] not in known.must_recover:
            continue
        low = _number(row, f"{measure}_low_percent", known)
        if not low >= LEAST_RECOVERY:
            found.append(
                f"{row[learner]} is not shown to adapt: the lower 95 % end of its recovery is "
                f"{show(low)} %, below {LEAST_RECOVERY:g} %"
            )
    return found


def _of_seeds(known: ClaimRegistration, row: pd.Series, place: str) -> list[str]:
    n, diverged = (_count(row, name, known) for name in ("n_seeds", "n_diverged"))
    if n is None or diverged is None:
        return [f"{place}n_seeds or n_diverged is no count ({row['n_seeds']}, {row['n_diverged']})"]
    if n + diverged != known.seeds:
        return [f"{place}{n} seeds and {diverged} diverged: not the {known.seeds} registered"]
    return []


def _of_pairs(
    known: ClaimRegistration, row: pd.Series, pairs: pd.DataFrame, n: int | None
) -> list[str]:
    """How the pairs differ from those registered, and whether too many of them fail a guard."""
    found = []
    if n is None:
        found.append(f"n_pairs is {row['n_pairs']}, no count")
    if len(pairs) != known.pairs:
        found.append(f"{len(pairs)} pairs: not the {known.pairs} registered")
    for _, pair in pairs.iterrows():
        found += _of_seeds(known, pair, f"pair {pair['pair']}: ")
    gaps = pairs["gap_pp"].to_numpy(float)
    failing = np.array([bool(guards.split(text)) for text in pairs["guards"]], dtype=bool)
    if not found:
        held = [_count(row, name, known) for name in ("n_pairs", "n_failing", "n_diverged")]
        own = [np.isfinite(gaps).sum(), failing.sum(), pairs["n_diverged"].sum()]
        if held != list(map(int, own)):
            found.append(
                "over_pairs and estimates disagree on pairs, failing pairs or diverged models "
                f"({held}, {list(map(int, own))}): build both again"
            )
    bad = pairs[failing | ~np.isfinite(gaps)]
    if len(bad) > known.max_failing:
        told = [f"{p['pair']}: {', '.join(guards.split(p['guards']))}" for _, p in bad.iterrows()]
        found.append(
            f"{len(bad)} pairs fail a guard, more than the {known.max_failing} registered as the "
            f"most: {told[0]}"
        )
    return found


def _check_numbers(
    known: ClaimRegistration, estimate: Estimate, n: int | None, pairs: pd.DataFrame | None
) -> None:
    """Refuse an estimate that disagrees with its interval, its units or the pairs' own rows."""
    place = f"registration {known.name}: {known.result}"
    near_its_interval(known, "gap_pp", estimate)
    if n is not None and estimate.dof > n - 1:
        raise OrlaError(
            f"{place} has {estimate.dof:g} degrees of freedom over {n} units; build it again"
        )
    mean = estimate.mean if pairs is None else float(pairs["gap_pp"].mean())
    if not np.isclose(estimate.mean, mean, rtol=_NEAR, atol=_NEAR):
        raise OrlaError(
            f"{place} has gap_pp {show(estimate.mean)}, and the mean of its pairs in estimates is "
            f"{show(mean)}; build both again"
        )


def near_its_interval(known: ClaimRegistration, name: str, estimate: Estimate) -> None:
    """Refuse an estimate outside its own interval, or an interval not of its standard error."""
    place = f"registration {known.name}: {known.result}"
    if not estimate.low <= estimate.mean <= estimate.high:
        raise OrlaError(
            f"{place} has {name} {show(estimate.mean)} outside its own interval "
            f"[{show(estimate.low)}, {show(estimate.high)}]; build the table again"
        )
    half = stats.t.ppf(1 - known.alpha, estimate.dof) * estimate.standard_error
    ends = [estimate.mean - half, estimate.mean + half]
    if not np.allclose([estimate.low, estimate.high], ends, rtol=_NEAR, atol=_NEAR):
        raise OrlaError(
            f"{place} has the interval [{show(estimate.low)}, {show(estimate.high)}], and its "
            f"standard error gives [{show(ends[0])}, {show(ends[1])}]; build the table again"
        )


def _others(
    known: ClaimRegistration, row: pd.Series, pairs: pd.DataFrame | None
) -> tuple[dict[str, Estimate], tuple[str, ...]]:
    """Other ways to form the estimate, where some model diverged or some pair fails a guard."""
    found, notes = {}, []
    if diverged := int(row["n_diverged"]):
        n = known.seeds if pairs is None else int(np.isfinite(pairs["gap_frozen_pp"]).sum())
        found[FROZEN] = _alternative(known, row, "frozen", n)
        notes.append(f"{diverged} diverged and left out")
    if pairs is not None and (failing := int(row["n_failing"])):
        sound = np.isfinite(pairs["gap_pp"]) & (pairs["guards"] == "")
        found[SOUND] = _alternative(known, row, "without_failing", int(sound.sum()))
        notes.append(f"{failing} of {known.pairs} pairs fail a guard")
    return found, tuple(notes)


def _alternative(known: ClaimRegistration, row: pd.Series, ending: str, n: int) -> Estimate:
    """An estimate that is given by its mean and interval over `n` units."""
    names = (f"gap_{ending}_pp", f"t90_low_{ending}_pp", f"t90_high_{ending}_pp")
    mean, low, high = (_number(row, name, known) for name in names)
    error = (high - low) / 2 / stats.t.ppf(1 - known.alpha, n - 1) if n > 1 else np.nan
    return Estimate(mean, float(error), n - 1, low, high)


def _number(row: pd.Series, column: str, known: ClaimRegistration) -> float:
    return rows.number(row[column], column, known.name, known.result)


def _count(row: pd.Series, column: str, known: ClaimRegistration) -> int | None:
    return rows.count(_number(row, column, known))
