"""A name in a config that is no part, and no instance, is refused with the nearest that is."""

import copy
from pathlib import Path

import pytest
from snakemake.common.configfile import load_configfile

from orla.errors import OrlaError
from orla.study.config import checked, settled

ROOT = Path(__file__).parents[2]
KINDS = {  # section of instances -> a misspelt kind, and the nearest
    "tasks": ("sinus", "sine"),
    "networks": ("lsmt", "lstm"),
    "learners": ("imediate", "immediate"),
    "optimizers": ("adamm", "adam"),
    "interventions": ("match-norms", "match-norm"),
    "starts": ("pretrain", "pretrained"),
    "probes": ("update-ratio", "update_ratio"),
}
NAMED = {  # key of a block of conditions -> a misspelt name, and the nearest
    "tasks": ("recording", "recordings"),
    "networks": ("rn", "rnn"),
    "learners": ("tbptt-200", "tbptt"),
    "optimizers": ("lers", "lars"),
    "precisions": ("float46", "float64"),
    "splits": ("80-2", "80-20"),
    "interventions": ("match_norm", "match-norm"),
    "starts": ("frseh", "fresh"),
    "observers": ("rtl", "rtrl"),
    "probes": ("past-gradient", "past_gradient"),
}
PLACES = {  # where else names stand -> a config's change, and the nearest
    "grids": ({"grids": {"adma": {"step": [0.1]}}}, "adam"),
    "horizons.learners": ({"horizons": {"learners": ["tbptt-200-20"]}}, "tbptt-200-200"),
    "comparisons.paper": ({"comparisons": {"paper": {"minus": ["rtrl", "imediate"]}}}, "immediate"),
    "statistics.main": ({"statistics": {"main": "papper"}}, "paper"),
}


@pytest.fixture(scope="module")
def default():
    return load_configfile(ROOT / "config.yaml")


def refusal(default, change):
    config = settled(merged(copy.deepcopy(default), change))
    with pytest.raises(OrlaError) as caught:
        checked(config)
    [line] = str(caught.value).splitlines()
    assert line.startswith("config: ")
    return line


def merged(config, change):
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(config.get(key), dict)
        config[key] = merged(config[key], value) if both else value
    return config


def test_the_config_itself_is_taken(default):
    assert checked(settled(default)).conditions


@pytest.mark.parametrize("section", KINDS)
def test_a_kind_that_is_none(default, section):
    wrong, near = KINDS[section]
    line = refusal(default, {section: {"mine": {"kind": wrong}}})
    assert f'"{section}.mine.kind" cannot be "{wrong}"; the nearest is "{near}"' in line


@pytest.mark.parametrize("key", NAMED)
def test_a_condition_that_names_none(default, key):
    wrong, near = NAMED[key]
    block = default["conditions"][0] | {key: [wrong]}
    line = refusal(default, {"conditions": [block]})
    assert f'"conditions[0].{key}' in line and f'"{wrong}"' in line
    assert f'the nearest is "{near}"' in line


@pytest.mark.parametrize("place", PLACES)
def test_another_place_that_names_none(default, place):
    change, near = PLACES[place]
    line = refusal(default, change)
    assert f'"{place}"' in line and f'the nearest is "{near}"' in line


@pytest.mark.parametrize(
    "section, instance, wrong, near",
    [
        ("networks", {"kind": "rnn", "hiden": 3}, "hiden", "hidden"),
        ("learners", {"kind": "trace", "deccay": 0.5}, "deccay", "decay"),
        ("optimizers", {"kind": "adam", "epps": 0.5}, "epps", "eps"),
        ("tasks", {"kind": "lorenz", "roh": 30}, "roh", "rho"),
    ],
)
def test_an_option_that_is_none(default, section, instance, wrong, near):
    line = refusal(default, {section: {"mine": instance}})
    assert f'"{section}.mine.{wrong}" is not a known key; the nearest is "{near}"' in line


def test_an_instance_is_near_as_well(default):
    change = {"learners": {"slow": {"kind": "trace", "decay": 0.99}}}
    block = default["conditions"][0] | {"learners": ["slwo"]}
    assert 'the nearest is "slow"' in refusal(default, change | {"conditions": [block]})
