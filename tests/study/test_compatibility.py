"""Parts that do not take one another are refused as the config is read, in their own words."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from one_task import CONFIG, config, refusal

from orla import catalogue
from orla.errors import OrlaError
from orla.study.config import plan_from_config

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache" / "fits"
    catalogue.use_plugins([])


# Those that a bare name stands for.
NETWORKS = {
    name: catalogue.make("architecture", name, n_in=2, n_out=1)
    for name, part in catalogue.parts("architecture").items()
    if all(f.default is not f.default_factory for f in catalogue.options.options_of(part))
}
# The tasks, with a window that every learner's updates divide.
WINDOWED = CONFIG["tasks"] | {"wave": {"kind": "sine", "window": 200}}


def test_a_learner_is_refused_on_the_networks_that_it_does_not_take_and_on_no_other():
    """A refusal of each learner that has one, on the first network that it does not take."""
    named = {"networks": CONFIG["networks"] | {f"its-{n}": {"kind": n} for n in NETWORKS}}
    taken, refusals = {network: [] for network in NETWORKS}, {}
    for network, name in product(NETWORKS, catalogue.parts("learner")):
        try:
            catalogue.make("learner", name, architecture=NETWORKS[network])
            taken[network].append(name)
        except OrlaError as error:
            refusals.setdefault(name, (f"its-{network}", str(error)))
    of_all = {"tasks": ["wave"], "name": "all that are taken"}
    blocks = (of_all | {"networks": [f"its-{n}"], "learners": taken[n]} for n in taken)
    plan_from_config(config(*blocks, tasks=WINDOWED, **named))
    for name, (network, words) in refusals.items():
        said = refusal({"networks": [network], "learners": ["immediate", name]}, **named)
        place = f'config: "conditions[0].learners" has {name} on the network {network}: '
        assert said == place + words
    assert all({"immediate", "tbptt"} <= set(learners) for learners in taken.values())
    assert "rflo" not in taken["lstm"] and "diagonal" not in taken["rnn"] and len(refusals) > 4


def test_the_place_is_the_block_that_names_the_part():
    fine = {"name": "fine"}
    said = refusal(fine, {"networks": ["rnn", "lstm"], "learners": ["rflo"]})
    assert said.startswith('config: "conditions[1].learners" has rflo on the network lstm: rflo: ')
    twice = {"networks": ["lstm"], "learners": ["rflo"]}
    assert refusal(fine, twice, twice).startswith('config: "conditions[1].learners" has rflo on')
    # Both blocks mention the condition; the second one brings the observer.
    both = {"networks": ["lstm"], "learners": ["immediate"]}
    said = refusal(both, both | {"observers": ["rtrl", "eprop", "diagonal"]})
    assert said.startswith('config: "conditions[1].observers" has diagonal on the network lstm: ')
    plan_from_config(config(both, both | {"observers": ["rtrl", "eprop"]}))


def test_an_instance_goes_by_its_own_name():
    learners = {"slow": {"kind": "rflo", "leak": 0.01}}
    networks = CONFIG["networks"] | {"wide": {"kind": "lstm", "hidden": 9}}
    block = {"networks": ["wide"], "learners": ["slow"]}
    said = refusal(block, learners=learners, networks=networks)
    assert said.startswith('config: "conditions[0].learners" has slow on the network wide: rflo: ')


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("interventions", {"kind": "match-norm", "observer": "exact"}),
        ("probes", {"kind": "past_gradient", "full": "exact"}),
    ],
)
def test_a_part_that_reads_an_observer_needs_it(key, part):
    sections = {key: {"mine": part}, "learners": {"exact": {"kind": "rtrl"}}}
    said = refusal({}, {key: ["mine"]}, **sections)
    # With the same probes or interventions in none of the blocks nothing is asked of them.
    kind = part["kind"]
    assert said.startswith(f'config: "conditions[{1 if key == "interventions" else 0}]": ')
    assert f"{kind} reads the observer 'exact', which is not there; name it under observers" in said
    plan_from_config(config({key: ["mine"], "observers": ["exact"]}, **sections))
    plan_from_config(config({}, **sections))


def test_an_observer_with_another_stride_than_the_learners_is_refused():
    block = {"learners": ["immediate-40"], "observers": ["immediate-20"]}
    said = refusal(block, tasks=WINDOWED)
    assert said == (
        'config: "conditions[0]": observer immediate-20 answers every 20 steps and the learner '
        "updates every 40; give both one stride, or the observer 1"
    )


PLUGIN = '''"""A part that refuses."""
from dataclasses import dataclass
from orla.errors import OrlaError
from orla.{module} import {base}


@dataclass(frozen=True)
class Mine({base}, name="mine"{more}):
    """A part that refuses what it is given."""

    {body}
'''
REFUSING = "def __post_init__(self):\n        raise OrlaError('mine: no; take another')"


@pytest.mark.parametrize(
    ("key", "module", "base", "more"),
    [
        ("optimizers", "optimizers.sgd", "SGD", ', grid={"step": [0.01]}'),
        ("starts", "starts.base", "Fresh", ""),
        ("probes", "probes.ratios", "UpdateRatio", ""),
        ("learners", "learners.last_layer", "LastLayer", ""),
        ("networks", "architectures.rnn", "RNN", ""),
    ],
)
def test_any_part_may_refuse(tmp_path, key, module, base, more):
    text = PLUGIN.format(module=module, base=base, more=more, body=REFUSING)
    (tmp_path / "mine.py").write_text(text)
    sections = {"plugins": [str(tmp_path)]}
    if key == "networks":
        sections |= {"networks": CONFIG["networks"] | {"mine": {"kind": "mine"}}}
    said = refusal({}, {key: ["mine"]}, **sections)
    on = " on the network rnn" if key == "learners" else ""
    assert said == f'config: "conditions[1].{key}" has mine{on}: mine: no; take another'
    if key == "probes":
        said = refusal({}, probes_of_all=["mine"], **sections)
        assert said == 'config: "probes_of_all" has mine: mine: no; take another'


CODE = """
import sys
from pathlib import Path
from orla.engine.memory_request import job_mb
from orla.study.config import read_plan
from orla.study.config_checks import CHAPTERS
for overlay in [[], *([overlay] for overlay in Path("config").glob("*.yaml"))]:
    plan = read_plan(overlay)
    assert plan.conditions or CHAPTERS & plan.config.keys(), overlay
    assert all(job_mb(plan.job(c), n_in=40, n_out=40, models=5) for c in plan.conditions), overlay
    assert "torch" not in sys.modules, f"{overlay} imports torch; run: make reference"
"""


def test_the_configs_of_this_repository_are_read_without_torch_and_without_a_cache(cache):
    run = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not cache.exists()


def test_an_answer_that_the_shipped_file_lacks_is_cached_refusals_too(cache):
    plan_from_config(config({}))
    assert not cache.exists()  # it stands in the file
    networks = CONFIG["networks"] | {"rnn": {"kind": "rnn", "hidden": 3}}
    for _ in range(2):
        plan_from_config(config({"seeds": 4}, networks=networks, stable_windows=3))
    assert len(list(cache.glob("*.json"))) == 1
    said = [refusal({"networks": ["lstm"], "learners": ["rflo"]}) for _ in range(2)]
    assert said[0] == said[1] and len(list(cache.glob("*.json"))) == 2
