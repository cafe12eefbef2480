"""What jobs ask for follows from the config."""

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.common.configfile import load_configfile

ROOT = Path(__file__).parents[2]

SWEEP = SimpleNamespace(
    architecture="rnn", learner="rtrl", optimizer="adam", precision="float64", split="80-20"
)


def asked(attempt=1, wildcards=SWEEP, **compute):
    config = copy.deepcopy(load_configfile(ROOT / "config.yaml"))
    config["compute"] |= compute
    names = {"config": config}
    exec((ROOT / "workflow/rules/resources.smk").read_text(), names)
    return names["sweep_mb"](wildcards, attempt)


def test_a_job_that_was_killed_asks_for_twice_as_much():
    assert asked(attempt=2) == 2 * asked()


def test_a_batch_on_a_device_is_not_cut_to_a_processors_cache():
    assert asked(batch_models=400) == asked(batch_models=40)
    assert asked(batch_models=400, device="cuda") > 4 * asked(batch_models=40, device="cuda")


@pytest.mark.parametrize("name", ["learner", "optimizer"])
def test_a_condition_of_ones_own_is_given_a_guess(name):
    assert asked(wildcards=SimpleNamespace(**vars(SWEEP) | {name: "of-ones-own"})) == 4000
