"""Behaviour of guards and judge: verdicts on made-up rows around every bound of a registration."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from orla.errors import OrlaError
from orla.prereg import evidence, judge
from orla.prereg.registration import DRIFTING, QUANTITY_PAIRS, RESULT, SEED, Check, Registration
from orla.prereg.rows import LEARNERS, Tables
from orla.prereg.rules import MoreThan
from orla.results import guards
from orla.results.scales import SCALES
from orla.study.keys import DEFAULTS


def guard_outputs() -> list[int]:
    """How many guards fire, over a grid around their bounds, and where recovery has a meaning."""
    grid = product((19.0, 20.0), (2, 3), (False, True), (0.9, 1.0, np.nan))
    texts = (
        guards.reasons([guards.RateSearch("x", updates, rates, 0.1, edge)], error, 1.0)
        for updates, rates, edge, error in grid
    )
    counts = [len(text.split(": ")) for text in texts]
    denominators = product((0.049, 0.051, 0.2, np.nan), (0.01, 0.02, np.nan))
    return [*counts, *(int(guards.denominator_fails(*each)) for each in denominators)]


def leave_one_out_outputs() -> list[bool]:
    """Whether a verdict stands where k of n studies with one pair left out agree with it."""
    return [
        judge.is_robust_to_leave_one_out("x", k * ["x"] + (n - k) * ["y"])
        for n in range(21)
        for k in range(n + 1)
    ]


def holm_family_outputs(registration: Registration) -> list[Any]:
    """Outcomes and p values of families of three claims, by gaps two standard errors apart."""
    base, error, _ = _base_case(registration)
    gaps = base.rule.gaps(2 * error)
    outputs: list[Any] = []
    for means in zip(gaps, gaps[4:], gaps[8:], strict=False):
        family = [replace(base, name=name, primary=False) for name in "xyz"]
        tables = [_made_up_tables(base, float(mean), error) for mean in means]
        read = [
            evidence.read_evidence(each, table, each.binds)
            for each, table in zip(family, tables, strict=True)
        ]
        verdicts = judge.judge_evidence(read)
        outputs += [[v[column] for v in verdicts] for column in ("outcome", "p", "p_holm")]
    return outputs


def judge_outputs(registration: Registration) -> Any:
    """Outcomes and p values on made-up rows around the bounds of the claim and of each check."""
    rule = registration.rule
    grid = product(rule.gaps(1.0), (0.0, 0.4, 2.0), (1.0, 4.0, 11.0))
    outputs: list[Any] = [[*rule.mean_p_values(mean, error, dof)] for mean, error, dof in grid]
    outputs.append(judge.holm_p_values([0.001, 0.02, 0.03, 0.6]))
    base, error, means = _base_case(registration)
    cases = [(float(mean), {}) for mean in means[::2]]
    cases += [(float(means[i]), change) for i in (0, -1) for change in _boundary_cases(base)]
    for mean, change in cases:
        tables = _made_up_tables(base, mean, error, **change)
        [verdict] = judge.judge_registrations([base], tables, bindings={base.name: base.binds})
        outputs.append([verdict["outcome"], str(verdict["n"])])
    return outputs


def reading_outputs(base: Registration) -> Any:
    """What is read of made-up rows: whole, with a number missing or changed, of other bindings."""
    mean = float(base.rule.gaps(0.1)[0])
    tables = _made_up_tables(base, mean, 0.1)
    outputs = [
        _read_numbers(base, _made_up_tables(base, mean, 0.1, **change))
        for change in _boundary_cases(base)
    ]
    for result, column in dict.fromkeys(
        (r, c) for r, columns in base.required_columns for c in columns
    ):
        for value in (np.nan, 2.0):
            table = tables[result].astype({column: object})
            table.loc[0, column] = value
            outputs.append(_read_numbers(base, {**tables, result: table}))
    others = ({"record_sha256": "y"}, {"parts": {"a": "b"}}, {"uncommitted": "a"}, {"refused": "a"})
    for binding in (None, *({**base.binds, **other} for other in others)):
        outputs.append(_read_numbers(base, tables, binding))
    return outputs


def drift_outputs(base: Registration) -> Any:
    """What is read where more and more pairs hardly drift, for a claim over pairs."""
    if base.quantity or not base.by_pairs:
        return []
    base = replace(base, binds={**base.binds, "parts": {DRIFTING: ""}})
    tables = _made_up_tables(base, float(base.rule.gaps(0.1)[0]), 0.1)
    recoveries, outputs = [f"{name}_percent" for name in LEARNERS.values()], []
    for still, name in product(range(base.max_failing + 2), recoveries):
        pairs = tables[RESULT[SEED]].assign(**dict.fromkeys(recoveries, 30.0))
        pairs.loc[pairs.index < still, name] = np.nan
        outputs.append(_read_numbers(base, {**tables, RESULT[SEED]: pairs}))
    return outputs


def generic_registration(registration: Registration) -> Registration:
    """One registration for all of the same kind, whose rows are read alike."""
    kind = {"quantity": "q"} if registration.quantity else {"comparison": "c", "minus": ("a", "b")}
    kind |= {"scale": registration.scale, "unit": registration.unit, "must_recover": ("a",)}
    if registration.by_pairs:
        kind |= {"pairs": 5, "max_failing": 2}
    kind |= {"rule": MoreThan(1.0), "primary": True, "binds": {"record_sha256": "x"}}
    return Registration("x", Path(), seeds=3, max_diverged=1, **kind)


def check_outputs(registration: Registration) -> Any:
    """What is read where each of a registration's checks holds, fails, and has no row."""
    base, error, means = _base_case(registration)
    tables = _made_up_tables(base, float(means[0]), error)
    claims = [replace(base, checks=(check,)) for check in registration.checks]
    return [
        _read_numbers(claim, each) for claim in claims for each in _tables_for_check(claim, tables)
    ]


def _read_numbers(registration: Registration, tables: Tables, *binding: Any) -> Any:
    """The number of obstacles, and all estimates; "refused" where the rows cannot be read."""
    try:
        read = evidence.read_evidence(registration, tables, *(binding or [registration.binds]))
    except (OrlaError, TypeError, ValueError):
        return "refused"
    others = (*read.variants.values(), *read.leave_one_out_estimates.values())
    numbers = [[read.n, *vars(estimate).values()] for estimate in (read.estimate, *others)]
    return [[len(read.obstacles), len(read.notes)], *numbers]


def _tables_for_check(registration: Registration, tables: Tables) -> Iterator[Tables]:
    """Tables in which rows of the check hold, fail, have another level, and are absent."""
    [check], query = registration.checks, registration.query
    row = tables[query.result].iloc[0].to_dict() | registration.default_where
    where = [dict(zip(check.where, each, strict=True)) for each in product(*check.where.values())]
    holds, fails = _example_values(check)
    values = [{**row, **dict.fromkeys(check.ends, end)} for end in (holds, fails, holds)]
    values[-1]["alpha"] = 0.5
    for value in (*values, None):
        rows = [{**value, **each} for each in where if value]
        table = pd.DataFrame(rows, columns=[*dict.fromkeys([*row, *check.where, *check.ends])])
        present = tables.get(check.result)
        yield {**tables, check.result: pd.concat([present, table], ignore_index=True)}


def _example_values(check: Check) -> tuple[Any, Any]:
    """A value that a check asks for, and one that it does not."""
    if (region := check.region) is None:
        return check.equals, "x" if isinstance(check.equals, str) else not check.equals
    finite = [bound for bound in (region.low, region.high) if np.isfinite(bound)]
    points = (finite[0] - 1, float(np.mean(finite)), finite[-1] + 1, finite[0])
    within = {region.contains(point, point): point for point in reversed(points)}
    return within[True], within[False]


def _base_case(registration: Registration) -> tuple[Registration, float, np.ndarray]:
    """A registration without its checks; a standard error, and gaps around its bounds."""
    base = replace(registration, checks=(), primary=True, binds={"record_sha256": "x"})
    error = abs(registration.rule.value) / 30 or 0.1
    return base, error, registration.rule.gaps(5 * error)


def _boundary_cases(registration: Registration) -> list[dict[str, Any]]:
    """Arguments of `_made_up_tables`, each with one number beside a bound of the registration."""
    max_diverged, max_failing = registration.max_diverged, registration.max_failing
    changes: list[tuple[str, Any]] = [
        ("recovery", 19.9),
        ("recovery", 20.1),
        ("diverged", max_diverged),
        ("failing", max_failing),
        ("diverged", max_diverged + 1),
        ("failing", max_failing + 1),
        ("seeds", registration.seeds + 1),
        ("alpha", registration.alpha / 2),
        ("pairs", registration.pairs + 1),
        ("outlier", 50.0),
        ("guard", "few updates"),
        ("has_meaning", False),
    ]
    return [dict([change]) for change in changes]


def _made_up_tables(
    registration: Registration, gap: float, error: float, **changes: Any
) -> dict[str, pd.DataFrame]:
    """Results with its row, and a row a pair; the first lies `outlier` errors above the mean."""
    query = registration.query
    by_pairs, columns = registration.by_pairs, query.columns
    settings = {"recovery": 30.0, "diverged": 0, "failing": 0, "outlier": 0.0, "guard": ""}
    settings |= {name: getattr(registration, name) for name in ("seeds", "pairs", "alpha")}
    settings |= {"has_meaning": True} | changes
    seeds, number, total_diverged = settings["seeds"], settings["pairs"], settings["diverged"]
    n = number if by_pairs else seeds - total_diverged
    dof = max(n - 1, 1)
    half = stats.t.ppf(1 - registration.alpha, dof) * error
    row: dict[str, Any] = {
        **DEFAULTS,
        **query.where,
        **dict(zip(LEARNERS, registration.minus or ("", ""), strict=True)),
        **{f"{name}_low_percent": settings["recovery"] for name in LEARNERS.values()},
        columns["standard_error"]: error,
        columns["dof"]: dof,
        "unit": registration.unit,
        "scale": registration.scale,
        "alpha": settings["alpha"],
        "guards": settings["guard"],
        "has_meaning": settings["has_meaning"],
        "n_without_meaning": 0,
        "n_pairs": number if by_pairs else 1,
        "n_seeds": seeds - total_diverged,
        "n_diverged": total_diverged,
        "n_failing": settings["failing"] if by_pairs else 0,
        columns["n"]: n,
    }
    column_means = [([columns[role] for role in ("estimate", "low", "high")], gap)]
    variants = enumerate(query.variants.values())
    column_means += [(each.columns, gap + 2 * error * shift) for shift, each in variants]
    for names, mean in column_means:
        row |= dict(zip(names, (mean, mean - half, mean + half), strict=True))
    above = settings["outlier"] * error * np.array([1.0, *[-1 / max(number - 1, 1)] * (number - 1)])
    names = [f"pair-{i}" for i in range(number)]
    if registration.quantity:
        each = {"quantity": registration.quantity, "pair": names, "value": gap + above}
        return {query.result: pd.DataFrame([row]), QUANTITY_PAIRS: pd.DataFrame(each)}
    count = SCALES[registration.scale].count.format(SEED)
    row[count] = seeds - total_diverged
    if not by_pairs:
        return {query.result: pd.DataFrame([{**row, "pair": registration.pair}])}
    pair_diverged = np.where(np.arange(number) == 0, total_diverged, 0)  # all of the first pair
    each = pd.DataFrame([row] * number).assign(
        pair=names,
        n_diverged=pair_diverged,
        guards=["few updates" if i < settings["failing"] else "" for i in range(number)],
        **dict.fromkeys(("n_seeds", count), seeds - pair_diverged),
        **{columns["estimate"]: gap + above},
    )
    return {query.result: pd.DataFrame([row]), RESULT[SEED]: each}
