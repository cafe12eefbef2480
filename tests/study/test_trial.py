"""A part from outside that cannot make one update is refused in one line before anything runs."""

import random
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from one_task import CONFIG, config, refusal

from orla import catalogue
from orla.errors import OrlaError
from orla.optimizers.base import Optimizer
from orla.study import trial
from orla.study.config import plan_from_config

PLUGINS = Path(__file__).parents[1] / "plugins"
# List of a block -> a plug-in, and the name that it has in the config.
PARTS = {"networks": ("mgu", "mine"), "optimizers": ("adagrad",) * 2, "starts": ("damped",) * 2}
NETWORKS = CONFIG["networks"] | {
    "mine": {"kind": "mgu", "hidden": 4},
    "deep": {"kind": "stack", "hidden": 4, "layers": ["rnn", "mgu"]},
}
CALLING_ITEM = ("+ f * n", "+ f.mean().item() * n")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    yield
    catalogue.use_plugins([])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    return tmp_path / "parts"


def changed(folder, key, old="", new=""):
    """A block with a plug-in in the folder that was changed, the sections for it, and its text."""
    file, name = PARTS[key]
    text = (PLUGINS / f"{file}.py").read_text()
    assert old in text
    (folder / "mine.py").write_text(text.replace(old, new) if old else text)
    sections = {"networks": NETWORKS} if key == "networks" else {}
    return {key: [name]}, sections | {"plugins": [str(folder)]}


@pytest.mark.parametrize("key", PARTS)
def test_a_plug_in_that_works_passes_the_trial(folder, key):
    block, sections = changed(folder, key)
    plan_from_config(config(block, **sections))


@pytest.mark.parametrize(
    ("key", "old", "new", "message"),
    [
        ("networks", 'params["W_hh"]', 'params["W"]', "KeyError: 'W', in line"),
        ("networks", "    @property\n", "", "write @property above it"),
        ("networks", "(1.0 - f) * state + f * n", "torch.cat([f, n])", "is 4; make them agree"),
        ("networks", "+ f * n", "+ f * n, n", "step answers tuple; answer"),
        ("networks", "return (1", "state += n\n        return (1", "changes its state in place"),
        ("networks", *CALLING_ITEM, "calling .item()"),
        ("optimizers", "full_like(p,", "full((3,),", "in line"),
        ("optimizers", "name, g in gradients", "name, g in params", "one for each of"),
        ("starts", 'params["W_hh"]', 'params["W_hh"].sum()', "answers parameters of the shapes"),
    ],
)
def test_a_plug_in_that_fails_the_trial_is_one_line_with_its_place(folder, key, old, new, message):
    block, sections = changed(folder, key, old, new)
    line = refusal(block, **sections)
    assert line.startswith('config: "conditions[0]') and message in line
    if "in line" in message:
        file = folder / "mine.py"
        assert f"{file}: " in line
        number = int(line.split("in line ")[1].split(")")[0])
        assert 9 < number <= file.read_text().count("\n")


def test_a_layer_from_outside_is_tried_in_its_stack_where_that_does_not_take_long(
    folder, monkeypatch
):
    _, sections = changed(folder, "networks", *CALLING_ITEM)
    line = refusal({"networks": ["deep"]}, **sections)
    assert "calling .item()" in line and str(folder) in line
    monkeypatch.setattr(trial, "_MOST", 0)
    monkeypatch.setenv("ORLA_CACHE", str(folder / "another"))
    plan_from_config(config({"networks": ["deep"]}, **sections))


def test_parts_of_the_package_are_not_tried(monkeypatch):
    for name in ("try_loop", "try_optimizer", "try_start"):
        monkeypatch.setattr(trial, name, lambda _: pytest.fail("tried"))
    plan_from_config(config({"optimizers": ["sgd", "adam"], "starts": ["pretrained", "fresh"]}))


PROBE = '''
from orla.probes.ratios import UpdateRatio


class Watching(UpdateRatio, name="watching"):
    """A probe with a mistake."""

    def measure(self, state, update):
        return state, missing
'''


def test_of_several_parts_from_outside_the_one_that_fails_is_named(folder):
    block, sections = changed(folder, "networks")
    (folder / "z_probe.py").write_text(PROBE)
    line = refusal(block | {"probes": ["watching"]}, **sections)
    assert f"{folder / 'z_probe.py'}: one update fails (NameError" in line


ZERO = torch.zeros((), dtype=torch.float64)


@dataclass(frozen=True)
class Answering(Optimizer):
    """Plain descent with a counter, whose answers are changed by a function each."""

    begun: callable = lambda state: state
    updates: callable = lambda updates: updates
    after: callable = lambda state: state

    def init(self, params):
        return self.begun({"t": params["W_out"].new_zeros(())})

    def update(self, gradients, state, params, lr):
        updates = {name: -lr * g for name, g in gradients.items()}
        return self.updates(updates), self.after({"t": state["t"] + 1})


def without(name):
    return lambda values: {n: v for n, v in values.items() if n != name}


def adding(**more):
    return lambda values: values | more


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"updates": without("b_out")}, 'update answers no update of "b_out"; answer one for each'),
        ({"updates": adding(V=ZERO)}, 'update answers an extra update of "V"; answer one'),
        (
            {"updates": adding(b_out=0.0)},
            'update answers float as the update of "b_out"; make it a',
        ),
        ({"updates": adding(b_out=ZERO)}, 'the update of "b_out" of shape (); make it (2,), as it'),
        (
            {"after": without("t")},
            'update answers no state "t"; give init and update the same keys',
        ),
        ({"after": adding(s=ZERO)}, 'update answers an extra state "s"; give'),
        ({"after": adding(t=3)}, 'update answers int as the state "t"; make it a tensor'),
        ({"after": adding(t=torch.zeros(3))}, 'the state "t" of shape (3,); make it (), as it is'),
        ({"begun": adding(t=0)}, 'init answers int as the state "t"; make it a tensor, a'),
    ],
)
def test_another_answer_is_one_line_that_names_the_optimizer(answers, message):
    trial.try_optimizer(Answering())
    with pytest.raises(OrlaError) as refused:
        trial.try_optimizer(Answering(**answers))
    said = str(refused.value)
    assert said.startswith("optimizer Answering: ") and message in said and "\n" not in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.mul_(0.5), "changes in place what it is given; answer new tensors"),
        (lambda g: g * random.random(), "answers otherwise when it is asked again; draw no random"),
        (lambda g: g / 0, "answers numbers that are not finite; mend it"),
        (lambda g: g.float(), "answers torch.float32 of float64; keep the precision"),
    ],
    ids=["in-place", "random", "nan", "precision"],
)
def test_optimizer_or_start_that_is_random_in_place_or_not_finite_is_refused(change, message):
    """Plug-ins that did so ran to the end, with other numbers."""

    class Changing(Answering):
        def update(self, gradients, state, params, lr):
            return {name: change(g) for name, g in gradients.items()}, {"t": state["t"] + 1}

    with pytest.raises(OrlaError, match=f"^optimizer Changing: update {message}"):
        trial.try_optimizer(Changing())
    start = catalogue.make("start", "fresh")
    trial.try_start(start)

    class Start(type(start)):
        def apply(self, architecture, params, generator):
            return {name: change(p) for name, p in params.items()}

    with pytest.raises(OrlaError, match=f"^start Start {message}"):
        trial.try_start(Start())
