"""The study's own registrations: locked, readable, and judged as they say on made-up tables."""

import functools
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION, settings, with_stable

from orla.prereg import asked, binding, lock, reader
from orla.prereg import judge as judging
from orla.prereg.registration import check_columns
from orla.results import base


def judge(registration, tables):
    return SimpleNamespace(**judging.judge([registration], tables)[0])


FOLDER = Path(__file__).parents[2] / "prereg"
EVERY = reader.read_all(FOLDER)
# Those of version 1; the claims of version 2 are judged in test_claimed.py.
REGISTRATIONS = [known for known in EVERY if not known.tested]
NAMES = [known.name for known in REGISTRATIONS]


def test_all_are_locked_as_they_are():
    assert sorted(lock.verify(FOLDER)) == sorted(known.name for known in EVERY)


def test_the_claims_of_the_default_study_fit_its_config():
    """Each compares what the config runs, and binds its record as it stands."""
    plan = binding.plan_of([])
    claims = [known for known in EVERY if known.tested]
    assert [known.name for known in claims if known.primary] == ["many-arrays-adam-gradient"]
    for known in claims:
        asked.check_answered(plan, known)
        assert known.binds["record_sha256"] == binding.bound(plan, known)["record_sha256"]


@pytest.mark.parametrize("known", REGISTRATIONS, ids=NAMES)
def test_every_column_exists(known):
    check_columns(known, base.columns())


RECOVERY = {
    ("immediate", "adam"): 41.7,
    ("tbptt-200-200", "adam"): 41.7,
    ("immediate", "sgd"): 42.0,
    ("tbptt-200-200", "sgd"): 32.0,
    ("immediate", "adafactor"): 39.0,
    ("tbptt-200-200", "adafactor"): 32.0,
    ("immediate", "lars"): 12.0,
    ("tbptt-200-200", "lars"): 38.0,
    ("last-layer", "adam"): 22.0,
}
SEEDS = {"50-50": 20, "80-20": 5}
RATIO = {"sgd": 4.30, "adafactor": 4.82, "adam": 6.20, "lars": 10.49}


def study(recovery=RECOVERY, ratio=RATIO, scatter=0.5, seeds=20, drawn=3, **columns):
    """Tables of a made-up study whose recoveries are given, by the functions that build ours."""
    generator = np.random.default_rng(drawn)
    models = pd.DataFrame(
        {
            **CONDITION,
            "architecture": "rnn-window-50",
            "learner": learner,
            "optimizer": optimizer,
            "split": split,
            "seed": seed,
            "learning_rate": 1e-3,
            "diverged": False,
            "selected": True,
            "selected_on_test": True,
            "edge": False,
            "unreliable": False,
            "frozen_heldout_error": 1.1,
            "heldout_error": 0.7,
            "recovery_heldout_percent": value + generator.normal(0, scatter),
            "recovery_adapt_percent": value + 20,
            "r2_mean": 0.5,
            "r2_weighted": 0.5,
            "update_ratio": np.nan if learner == "last-layer" else ratio[optimizer],
        }
        | columns
        for (learner, optimizer), value in recovery.items()
        for split in ("50-50", "80-20")
        for seed in range(min(seeds, SEEDS[split]))
    )
    named, given = ("conditions", "gaps", "ratio_gap_order"), {"models": with_stable(models)}
    return {name: base.build(name, given, settings(resamples=300)) for name in named}


STUDIES = {
    "the paper's": {},
    "edge": {"edge": True},
    "unreliable": {"unreliable": True},
    "few seeds": {"seeds": 3},
    "wide scatter": {"scatter": 60.0, "drawn": 4},
}


@functools.cache
def tables_of(name):
    return study(**STUDIES[name])


AGAINST = {
    "adam-equivalence": {("tbptt-200-200", "adam"): 51.0},
    "lars-advantage": {("immediate", "lars"): 35.0},
    "sgd-gap": {("tbptt-200-200", "sgd"): 44.0},
    "ratio-gap-ordering": {("tbptt-200-200", "sgd"): 80.0, ("tbptt-200-200", "lars"): 1.0},
    "immediate-lars-fails": {("immediate", "lars"): 40.0},
    "last-layer-floor": {("last-layer", "adam"): 38.0},
}


@pytest.mark.parametrize("known", REGISTRATIONS, ids=NAMES)
def test_every_outcome_of_each_is_reached(known):
    """By the paper's numbers, contrary ones, poor runs, and seeds that scatter widely."""
    verdict = judge(known, tables_of("the paper's"))
    assert verdict.outcome == "supported", verdict.reason
    verdict = judge(known, study(RECOVERY | AGAINST[known.name]))
    assert verdict.outcome == "falsified", verdict.reason
    for spoilt in ("edge", "unreliable", "few seeds"):
        assert judge(known, tables_of(spoilt)).outcome == "untestable"
    verdict = judge(known, tables_of("wide scatter"))
    assert verdict.outcome in ("inconclusive", "untestable"), verdict.reason
