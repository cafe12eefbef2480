"""The default config with conditions on one synthetic task, and what its refusal says."""

import copy
from pathlib import Path

import pytest
import yaml

from orla.errors import OrlaError
from orla.study.config import plan_from_config

CONFIG = yaml.safe_load((Path(__file__).parents[1] / "config.yaml").read_text())
BLOCK = {
    "name": "one",
    "tasks": ["wave"],
    "networks": ["rnn"],
    "learners": ["immediate"],
    "optimizers": ["sgd"],
    "splits": ["shift"],
    "seeds": 1,
}


def config(*blocks, **sections):
    """The default config with one synthetic task and these blocks, each a change of `BLOCK`."""
    made = copy.deepcopy(CONFIG)
    made["tasks"]["wave"] = {"kind": "sine"}
    made["horizons"]["tasks"], made["comparisons"], made["quantities"] = [], {}, {}
    made["conditions"] = [BLOCK | block for block in blocks]
    return made | sections


def said_of(config):
    """The one line that a config is refused with."""
    with pytest.raises(OrlaError) as raised:
        plan_from_config(config)
    [line] = str(raised.value).splitlines()
    assert line.startswith(("config: ", "grid= in the class"))
    return line


def refusal(*blocks, **sections):
    return said_of(config(*blocks, **sections))
