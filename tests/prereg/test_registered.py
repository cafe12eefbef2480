"""The registrations of version 1: readable, and judged as they say on made-up tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import CONDITION, settings, with_stable

from orla.prereg import judge, lock, reader
from orla.prereg.registration import check_columns
from orla.results import base

FOLDER = Path(__file__).parents[2] / "prereg"
EVERY = reader.read_registrations(FOLDER)
REGISTRATIONS = [known for known in EVERY if not known.is_tested]


def test_all_are_locked_and_read_columns_that_are_there():
    assert len(REGISTRATIONS) == 6
    assert sorted(lock.verify_folder(FOLDER)) == sorted(known.name for known in EVERY)
    for known in REGISTRATIONS:
        check_columns(known, base.columns_by_statistic())


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


def study(recovery=RECOVERY, scatter=0.5, seeds=20, drawn=3, **columns):
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
            "update_ratio": np.nan if learner == "last-layer" else RATIO[optimizer],
        }
        | columns
        for (learner, optimizer), value in recovery.items()
        for split in ("50-50", "80-20")
        for seed in range(min(seeds, SEEDS[split]))
    )
    named, given = ("conditions", "gaps", "ratio_gap_order"), {"models": with_stable(models)}
    return {name: base.build(name, given, settings(resamples=300)) for name in named}


CONTRARY = {
    ("tbptt-200-200", "adam"): 51.0,
    ("immediate", "lars"): 40.0,
    ("tbptt-200-200", "lars"): 25.0,
    ("tbptt-200-200", "sgd"): 80.0,
    ("last-layer", "adam"): 48.0,
}


@pytest.mark.parametrize(
    ("arguments", "outcomes"),
    [
        ({}, {"supported"}),
        ({"recovery": RECOVERY | CONTRARY}, {"falsified"}),
        ({"edge": True}, {"untestable"}),
        ({"unreliable": True}, {"untestable"}),
        ({"seeds": 3}, {"untestable"}),
        ({"scatter": 60.0, "drawn": 4}, {"inconclusive", "untestable"}),
    ],
    ids=["the paper's", "contrary", "edge", "unreliable", "few seeds", "wide scatter"],
)
def test_every_outcome_of_each_is_reached(arguments, outcomes):
    """By the paper's numbers, contrary ones, poor runs, and seeds that scatter widely."""
    for verdict in judge.judge_registrations(REGISTRATIONS, study(**arguments)):
        assert verdict["outcome"] in outcomes, verdict["registration"] + ": " + verdict["reason"]
