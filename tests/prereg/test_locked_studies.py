"""Registrations of studies with a folder of their own: locked, bound, and every outcome reached."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_claims import estimate, gaps, quantity_pairs, quantity_row, tables, verdicts

from orla.prereg import asked, binding, lock, reader
from orla.prereg.registration import QUANTITIES, QUANTITY_PAIRS, check_columns
from orla.prereg.rows import LEARNERS
from orla.results import base

ROOT = Path(__file__).parents[2]
# Study -> its primary registration.
PRIMARY = {
    "mechanism": "mechanism-structure-gap",
    "odoherty-pairs": "pairs-adam-gradient",
    "pretraining": "adam-pretraining",
    "swapped": "swapped-adam",
}
FOLDERS = {study: ROOT / "prereg" / study for study in PRIMARY}
EVERY = {study: reader.read_all(folder) for study, folder in FOLDERS.items()}
ALL = [pytest.param(study, k, id=k.name) for study, every in EVERY.items() for k in every]
CLAIMS = [pytest.param(known, id=known.name) for every in EVERY.values() for known in every]


@pytest.fixture(scope="module")
def plans():
    return {study: binding.plan_of([ROOT / f"config/{study}.yaml"]) for study in PRIMARY}


@pytest.mark.parametrize("study", PRIMARY)
def test_all_are_locked_as_they_are(study):
    every = EVERY[study]
    assert sorted(lock.verify(FOLDERS[study])) == sorted(known.name for known in every)
    assert [known.name for known in every if known.primary] == [PRIMARY[study]]


@pytest.mark.parametrize(("study", "known"), ALL)
def test_each_is_about_what_the_study_runs(plans, study, known):
    plan = plans[study]
    asked.check_answered(plan, known)
    sweeps = asked.sweeps(plan, known)
    assert known.binds["record_sha256"] == binding.bound(plan, known)["record_sha256"]
    assert known.binds.get("sweeps", []) == sweeps
    check_columns(known, base.columns())


@pytest.mark.parametrize("study", PRIMARY)
def test_every_quantity_is_registered_or_checks_one_or_is_to_be(plans, study):
    read = {known.quantity for known in EVERY[study] if known.quantity}
    checked = {check.where["quantity"][0] for known in EVERY[study] for check in known.checks}
    named = plans[study].config.get(QUANTITIES, {})
    later = {
        name
        for name in named
        if re.match("energy-|whh-|routing-|.*(-one-pass|-window-1|-sensitivity-|-last-)", name)
    }
    assert not later & (read | checked)
    assert set(named) == read | checked | later


def judged(known, value, scatter, moved=60.0, seeds=None, diverged=0):
    """The verdict on a mean over units; quantities that it checks lie at `moved`."""
    seeds, by_pairs = seeds or known.seeds, known.unit == "pair"
    binds = {k: v for k, v in known.binds.items() if k != "sweeps"}
    if known.quantity:
        n, shared = known.pairs if by_pairs else known.seeds, {"scale": known.scale}
        shared |= {"n_pairs": known.pairs, "n_seeds": known.seeds}

        def row(mean, sd, **changes):
            return quantity_row(mean, sd, n, known.unit, known.alpha, **shared | changes)

        own = {"quantity": known.quantity, "n_seeds": seeds, "n_diverged": diverged}
        rows = [row(value, scatter, **own)]
        rows += [row(moved, 1.0, quantity=c.where["quantity"][0]) for c in known.checks]
        found = {QUANTITIES: pd.DataFrame(rows), QUANTITY_PAIRS: quantity_pairs(rows[0])}
    else:
        key = known.readings[0].where | dict(zip(LEARNERS, known.minus, strict=True))
        size = 150 if known.scale == "variance" else 1  # made-up tables have both scales
        values = gaps(size * value, size * scatter, known.pairs if by_pairs else seeds - diverged)
        if by_pairs:
            found = tables(values, seeds, diverged, **key)
        else:
            found = {"estimates": pd.DataFrame([estimate(values, seeds, diverged, **key)])}
    [verdict] = verdicts([known], found, {known.name: binds})
    return verdict


@pytest.mark.parametrize("known", CLAIMS)
def test_every_outcome_is_reached(known):
    size = max(abs(known.rule.value), 0.1)
    inside, outside = {
        "more_than": (known.rule.value + size, known.rule.value - size),
        "less_than": (known.rule.value - size, known.rule.value + size),
        "equivalent_within": (0.0, 3 * size),
    }[known.rule.name]
    assert judged(known, inside, 0.05 * size).outcome == "supported"
    assert judged(known, outside, 0.05 * size).outcome == "falsified"
    edge = known.rule.value + (0 if known.rule.name != "equivalent_within" else 0.1 * size)
    assert judged(known, edge, 0.5 * size).outcome == "inconclusive"
    assert judged(known, inside, 0.05 * size, seeds=known.seeds + 1).outcome == "untestable"
    assert judged(known, inside, 0.05 * size, diverged=known.max_diverged + 1).outcome == (
        "untestable"
    )


def missed(region):
    """A value that is not in the region."""
    if region.outside:
        return (region.low + region.high) / 2
    return region.low - 5 if np.isfinite(region.low) else region.high + 5


@pytest.mark.parametrize("known", [claim for claim in CLAIMS if claim.values[0].checks])
def test_each_is_untestable_where_its_check_fails(known):
    size = max(abs(known.rule.value), 0.1)
    inside = known.rule.value + (-size if known.rule.name == "less_than" else size)
    assert judged(known, inside, 0.05 * size).outcome == "supported"
    for check in known.checks:
        verdict = judged(known, inside, 0.05 * size, moved=missed(check.region))
        assert verdict.outcome == "untestable" and check.name in verdict.reason
