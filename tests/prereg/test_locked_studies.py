"""The registrations of the study of the past gradient: locked, bound, and every outcome reached."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from orla.prereg import binding, claims, lock, registration
from orla.results import base

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "prereg/mechanism"
EVERY = registration.read_all(FOLDER)
NAMES = [known.name for known in EVERY]


@pytest.fixture(scope="module")
def plan():
    return binding.plan_of([ROOT / "config/mechanism.yaml"])


def test_all_are_locked_as_they_are():
    assert sorted(lock.verify(FOLDER)) == sorted(NAMES)
    assert [known.name for known in EVERY if known.primary] == ["mechanism-structure-gap"]


@pytest.mark.parametrize("known", EVERY, ids=NAMES)
def test_each_is_about_what_the_study_runs(plan, known):
    binding.demand(plan, known)
    assert known.binds == binding.of(plan, known) | {"sweeps": binding.sweeps(plan, known)}
    registration.check_columns(known, base.columns())


def test_every_quantity_is_registered_or_checks_one(plan):
    read = {known.quantity for known in EVERY}
    checked = {check.where["quantity"][0] for known in EVERY for check in known.checks}
    assert set(plan.config["quantities"]) == read | checked


def row(known, value, scatter, **changes):
    n = known.pairs if known.unit == "pair" else known.seeds
    error = scatter / np.sqrt(n)
    half = stats.t.ppf(1 - known.alpha, n - 1) * error
    return {
        "quantity": known.quantity,
        "scale": known.scale,
        "unit": known.unit,
        "alpha": known.alpha,
        "value": value,
        "standard_error": error,
        "dof": n - 1,
        "t90_low": value - half,
        "t90_high": value + half,
        "n_pairs": known.pairs,
        "n_seeds": known.seeds,
        "n_diverged": 0,
        "n_failing": 0,
        "guards": "",
        "value_without_failing": np.nan,
        "t90_low_without_failing": np.nan,
        "t90_high_without_failing": np.nan,
    } | changes


def judged(known, value, scatter, moved=20.0, **changes):
    rows = [row(known, value, scatter, **changes)]
    rows += [row(known, moved, 1.0, quantity=c.where["quantity"][0]) for c in known.checks]
    binds = {k: v for k, v in known.binds.items() if k != "sweeps"}
    [found] = claims.judge([known], {"quantities": pd.DataFrame(rows)}, {known.name: binds})
    return found


@pytest.mark.parametrize("known", EVERY, ids=NAMES)
def test_every_outcome_is_reached(known):
    size = max(abs(known.claim.value), 0.1)
    inside, outside = {
        "more_than": (known.claim.value + size, known.claim.value - size),
        "less_than": (known.claim.value - size, known.claim.value + size),
        "equivalent_within": (0.0, 3 * size),
    }[known.claim.kind]
    assert judged(known, inside, 0.05 * size).outcome == "supported"
    assert judged(known, outside, 0.05 * size).outcome == "falsified"
    edge = known.claim.value + (0 if known.claim.kind != "equivalent_within" else 0.1 * size)
    assert judged(known, edge, 0.5 * size).outcome == "inconclusive"
    assert judged(known, inside, 0.05 * size, n_seeds=known.seeds + 1).outcome == "untestable"
    assert judged(known, inside, 0.05 * size, n_diverged=1).outcome == "untestable"


def test_the_isotropy_is_untestable_where_the_spectra_move_nothing():
    [known] = [k for k in EVERY if k.checks]
    assert known.quantity == "isotropy-order"
    assert judged(known, 0.9, 0.05, moved=5.0).outcome == "untestable"
