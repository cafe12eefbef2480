"""A part from outside that cannot make one update is refused in one line before anything runs."""

import pytest
from one_task import CONFIG, config, refusal

from orla import catalogue
from orla.study import trial
from orla.study.config import plan_from_config

HEAD = """
from dataclasses import dataclass
import torch
from orla.architectures.base import Architecture, matvec
from orla.optimizers.base import Optimizer
from orla.starts.base import Start

"""
NETWORK = '''
@dataclass(frozen=True)
class Mine(Architecture, name="mine"):
    """A leaky network."""

    @property
    def state_size(self):
        return self.hidden

    def recurrent_shapes(self):
        return {"W_ih": (self.hidden, self.n_in), "W_hh": (self.hidden, self.hidden)}

    def step(self, params, state, x):
        new = torch.tanh(matvec(params["W_ih"], x) + matvec(params["W_hh"], state))
        return state + 0.1 * (new - state)
'''
OPTIMIZER = '''
@dataclass(frozen=True)
class Mine(Optimizer, name="mine", grid={"step": [0.01]}):
    """Heavy ball."""

    def init(self, params):
        return {name: torch.zeros_like(p) for name, p in params.items()}

    def update(self, gradients, state, params, lr):
        state, updates = dict(state), {}
        for name, g in gradients.items():
            state[name] = 0.9 * state[name] + g
            updates[name] = -lr * state[name]
        return updates, state
'''
START = '''
@dataclass(frozen=True)
class Mine(Start, name="mine"):
    """Half of each parameter."""

    def apply(self, architecture, params, generator):
        return {name: 0.5 * p for name, p in params.items()}
'''
OF_A_NETWORK = {"networks": CONFIG["networks"] | {"mine": {"kind": "mine", "hidden": 4}}}
STACKED = {"kind": "stack", "hidden": 4, "layers": ["rnn", "mine"]}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    yield
    catalogue.use_plugins([])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path / "parts"


def block_and_sections(key, folder, text):
    (folder / "mine.py").write_text(HEAD + text)
    sections = {"plugins": [str(folder)]} | (OF_A_NETWORK if key == "networks" else {})
    return {key: ["mine"]}, sections


@pytest.mark.parametrize(
    ("key", "text"), [("networks", NETWORK), ("optimizers", OPTIMIZER), ("starts", START)]
)
def test_one_that_works_is_taken(folder, key, text):
    block, sections = block_and_sections(key, folder, text)
    plan_from_config(config(block, **sections))


@pytest.mark.parametrize(
    ("key", "text", "old", "new", "said"),
    [
        ("networks", NETWORK, 'params["W_hh"]', 'params["W"]', "KeyError: 'W', in line"),
        ("networks", NETWORK, "    @property\n", "", "write @property above it"),
        ("networks", NETWORK, "(new - state)", "(new - state), new", "step answers tuple; answer"),
        ("networks", NETWORK, "return state +", "state +=", "changes its state in place"),
        ("networks", NETWORK, "(self.hidden, self.n_in)", "(self.n_in, self.hidden)", "in line"),
        ("networks", NETWORK, "0.1 *", "new.mean().item() *", "calling .item()"),
        ("optimizers", OPTIMIZER, "def init", "def begin", "KeyError: 'W_ih', in line"),
        ("optimizers", OPTIMIZER, "zeros_like(p)", "zeros(3)", "in line"),
        ("optimizers", OPTIMIZER, "name, g in gradients", "name, g in params", "one for each of"),
        ("starts", START, "0.5 * p for", "p.sum() for", "answers parameters of the shapes"),
        ("starts", START, "0.5 * p", "0.5 * q", "NameError: name 'q' is not defined, in line"),
    ],
)
def test_one_that_does_not_is_one_line_with_its_place(folder, key, text, old, new, said):
    changed = text.replace(old, new)
    if "state +=" in new:
        changed = changed.replace("new - state)", "new - state)\n        return state")
    assert changed != text
    block, sections = block_and_sections(key, folder, changed)
    line = refusal(block, **sections)
    assert line.startswith('config: "conditions[0]') and said in line
    if "in line" in said:
        assert f"{folder / 'mine.py'}: " in line
        number = int(line.split("in line ")[1].split(")")[0])
        assert 9 < number <= (HEAD + changed).count("\n")


def test_a_layer_from_outside_is_tried_in_its_stack(folder):
    broken = NETWORK.replace("0.1 *", "new.mean().item() *")
    (folder / "mine.py").write_text(HEAD + broken)
    networks = {"networks": CONFIG["networks"] | {"deep": STACKED}}
    line = refusal({"networks": ["deep"]}, plugins=[str(folder)], **networks)
    assert "calling .item()" in line and str(folder) in line


def test_parts_of_the_package_are_not_tried(monkeypatch):
    for name in ("try_loop", "try_optimizer", "try_start"):
        monkeypatch.setattr(trial, name, lambda _: pytest.fail("tried"))
    plan_from_config(config({"optimizers": ["sgd", "adam"], "starts": ["pretrained", "fresh"]}))


def test_a_network_that_would_take_long_is_not_tried(folder, monkeypatch):
    broken = NETWORK.replace("0.1 *", "new.mean().item() *")
    block, sections = block_and_sections("networks", folder, broken)
    monkeypatch.setattr(trial, "_MOST", 0)
    plan_from_config(config(block, **sections))


PROBE = '''
from orla.probes.ratios import UpdateRatio


class Watching(UpdateRatio, name="watching"):
    """A probe with a mistake."""

    def measure(self, state, update):
        return state, missing
'''


def test_of_several_parts_from_outside_the_one_that_fails_is_named(folder):
    (folder / "a_network.py").write_text(HEAD + NETWORK)
    (folder / "z_probe.py").write_text(PROBE)
    block = {"networks": ["mine"], "probes": ["watching"]}
    line = refusal(block, plugins=[str(folder)], **OF_A_NETWORK)
    assert f"{folder / 'z_probe.py'}: one update fails (NameError" in line
