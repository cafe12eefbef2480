"""What jobs ask for follows from the config."""

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.common.configfile import load_configfile

from orla.study import conditions

ROOT = Path(__file__).parents[2]

SWEEP = SimpleNamespace(
    architecture="rnn", learner="rtrl", optimizer="adam", precision="float64", split="80-20"
)


def asked(attempt=1, wildcards=SWEEP, horizons=(), **compute):
    config = copy.deepcopy(load_configfile(ROOT / "config.yaml"))
    config["compute"] |= compute
    condition = {"seeds": 5, "learning_rates": [0.1, 0.3, 1.0], "horizons": list(horizons)}
    names = {
        "config": config,
        "SWEEPS": conditions.tree({"/".join(vars(wildcards).values()): condition}),
    }
    exec((ROOT / "workflow/rules/resources.smk").read_text(), names)
    return names["sweep_mb"](wildcards, attempt)


def test_a_job_that_was_killed_asks_for_twice_as_much():
    assert asked(attempt=2) == 2 * asked()


def test_models_kept_for_their_horizons_are_counted():
    # 6,850 parameters and 64 units of 15 models at 1,000 horizons, a tenth to spare.
    more = asked(horizons=range(1000)) - asked()
    assert more == pytest.approx(1.1 * 15 * 1000 * 8 * (6850 + 64) / 1e6, rel=0.01)


def test_a_batch_on_a_device_is_not_cut_to_a_processors_cache():
    assert asked(batch_models=400) == asked(batch_models=40)
    assert asked(batch_models=400, device="cuda") > 4 * asked(batch_models=40, device="cuda")


@pytest.mark.parametrize("name", ["learner", "optimizer"])
def test_a_condition_of_ones_own_is_given_a_guess(name):
    assert asked(wildcards=SimpleNamespace(**vars(SWEEP) | {name: "of-ones-own"})) == 4000
