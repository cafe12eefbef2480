"""Registrations of studies: locked, bound, and every outcome of those that are tested reached."""

import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_claims import estimate, gaps, quantity_pairs, quantity_row, tables, verdicts

from orla.prereg import binding, demands, lock, reader
from orla.prereg.registration import QUANTITIES, QUANTITY_PAIRS, check_columns
from orla.prereg.rows import LEARNERS
from orla.results import base
from orla.study.config import read_plan

ROOT = Path(__file__).parents[2]
# Study -> its primary registration.
PRIMARY = {
    "simulated": "many-arrays-adam-gradient",
    "mechanism": "mechanism-structure-gap",
    "odoherty": "adam-equivalence",
    "odoherty-pairs": "pairs-adam-gradient",
    "pretraining": "adam-pretraining",
    "structure": "energy-one-pass",
    "swapped": "swapped-adam",
}
FOLDERS = {study: ROOT / "prereg" / study for study in PRIMARY} | {"simulated": ROOT / "prereg"}
EVERY = {study: reader.read_registrations(folder) for study, folder in FOLDERS.items()}
# Those of one kind are judged by the same lines: one of each kind is judged.
KINDS = {
    (claim.rule.name, claim.unit, claim.scale, bool(claim.quantity), bool(claim.checks)): claim
    for every in EVERY.values()
    for claim in every
}


@cache
def plan_of(study):
    return read_plan([] if study == "simulated" else [ROOT / f"config/{study}.yaml"])


@pytest.mark.parametrize("study", PRIMARY)
def test_all_are_locked_and_are_about_what_the_study_runs(study):
    every, plan, columns = EVERY[study], plan_of(study), base.columns_by_statistic()
    folder = FOLDERS[study].relative_to(ROOT).as_posix()
    assert plan.config["registrations"]["folders"] == [folder]
    assert {claim.name for claim in every} <= lock.verify_folder(FOLDERS[study]).keys()
    assert [claim.name for claim in every if claim.primary] == [PRIMARY[study]]
    for claim in every:
        record = {"record_sha256": claim.binds["record_sha256"]}
        assert binding.config_binding(plan, claim) == record, claim.name  # and nothing is refused
        assert claim.binds.get("sweeps", []) == demands.quantity_condition_paths(plan, claim)
        check_columns(claim, columns)


@pytest.mark.parametrize("study", PRIMARY)
def test_a_configs_quantities_are_claimed_or_checked_or_named_exploratory(study):
    read = {claim.quantity for claim in EVERY[study] if claim.quantity}
    checked = {name for claim in EVERY[study] for name in claim.checked_quantities}
    named = plan_of(study).config.get(QUANTITIES, {})
    later = {
        name
        for name in set(named) - read - checked
        if re.match("energy-|whh-|routing-|.*(-one-pass|-window-1|-sensitivity-|-last-)", name)
    }
    assert set(named) == read | checked | later


def judged(claim, value, scatter, moved=60.0, seeds=None, diverged=0):
    """The verdict on a mean over units; quantities that it checks lie at `moved`."""
    seeds, by_pairs = seeds or claim.seeds, claim.unit == "pair"
    binds = {k: v for k, v in claim.binds.items() if k != "sweeps"}
    if claim.quantity:
        n, shared = claim.pairs if by_pairs else claim.seeds, {"scale": claim.scale}
        shared |= {"n_pairs": claim.pairs, "n_seeds": claim.seeds}

        def row(mean, sd, **changes):
            return quantity_row(mean, sd, n, claim.unit, claim.alpha, **shared | changes)

        own = {"quantity": claim.quantity, "n_seeds": seeds, "n_diverged": diverged}
        rows = [row(value, scatter, **own)]
        rows += [row(moved, 1.0, quantity=name) for name in claim.checked_quantities]
        found = {QUANTITIES: pd.DataFrame(rows), QUANTITY_PAIRS: quantity_pairs(rows[0])}
    else:
        key = claim.query.where | dict(zip(LEARNERS, claim.minus, strict=True))
        size = 150 if claim.scale == "variance" else 1  # made-up tables have both scales
        values = gaps(size * value, size * scatter, claim.pairs if by_pairs else seeds - diverged)
        if by_pairs:
            found = tables(values, seeds, diverged, **key)
        else:
            found = {"estimates": pd.DataFrame([estimate(values, seeds, diverged, **key)])}
    checks = [check for check in claim.checks if check.result != QUANTITIES]
    values = {end: moved for check in checks for end in check.ends}
    for check in checks:
        where = [dict(zip(check.where, v, strict=True)) for v in product(*check.where.values())]
        rows = pd.DataFrame([each | values for each in where])
        found[check.result] = pd.concat([found.get(check.result), rows])
    [verdict] = verdicts([claim], found, {claim.name: binds})
    return verdict


def missed(region):
    """A value that is not in the region."""
    if region.outside:
        return (region.low + region.high) / 2
    return region.low - 5 if np.isfinite(region.low) else region.high + 5


@pytest.mark.parametrize("claim", [pytest.param(k, id=k.name) for k in KINDS.values()])
def test_every_outcome_is_reached(claim):
    size, value = max(abs(claim.rule.value), 0.1), claim.rule.value
    inside, outside, edge = {
        "more_than": (value + size, value - size, value),
        "less_than": (value - size, value + size, value),
        "equivalent_within": (0.0, 3 * size, value + 0.1 * size),
    }[claim.rule.name]
    for mean, scatter, more, outcome in (
        (inside, 0.05, {}, "supported"),
        (outside, 0.05, {}, "falsified"),
        (edge, 0.5, {}, "inconclusive"),
        (inside, 0.05, {"seeds": claim.seeds + 1}, "untestable"),
        (inside, 0.05, {"diverged": claim.max_diverged + 1}, "untestable"),
    ):
        assert judged(claim, mean, scatter * size, **more).outcome == outcome
    for check in claim.checks:
        verdict = judged(claim, inside, 0.05 * size, moved=missed(check.region))
        assert verdict.outcome == "untestable" and check.name in verdict.reason
