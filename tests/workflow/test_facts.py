"""What reports are told of a study."""

import importlib.util
from types import SimpleNamespace

import pytest
from running import ROOT

SPEC = importlib.util.spec_from_file_location("facts", ROOT / "workflow/scripts/facts.py")
facts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(facts)


def given():
    """What a rule gives: every value off its default."""
    return {
        "name": "mine",
        "statistics": {"margin_pp": 7.0, "alpha": 0.1, "resamples": 10, "seed": 0, "main": "gap"},
        "comparisons": {"gap": {"minus": ["rtrl", "immediate"], "label": "full"}},
        "recordings": ["recordings"],
        "papers_task": "recordings",
        "instances": {"learner": {"slow": {"kind": "trace", "decay": 0.9}}},
        "pretraining": {"epochs": 3},
        "tasks": {"recordings": {"kind": "recordings"}},
    }


def found(domain, source):
    params = SimpleNamespace(plugins=[], facts=given())
    return facts.facts_of(params, {"datasets": {domain: {"source": source, "label": "data"}}})


def test_facts_are_those_of_the_config():
    study, told = found("recordings/indy/80-20", "nwb"), given()
    for name in ("name", "papers_task", "instances", "pretraining", "tasks"):
        assert getattr(study, name) == told[name]
    assert (study.margin_pp, study.alpha, study.main) == (7.0, 0.1, "gap")
    assert study.recordings == ("recordings",) and study.label == "data"
    assert {n: (c.minuend, c.subtrahend) for n, c in study.comparisons.items()} == {
        "gap": ("rtrl", "immediate")
    }


@pytest.mark.parametrize(
    ("domain", "source", "reproduces"),
    [
        ("recordings/indy/80-20", "simulated", True),
        ("recordings/indy/80-20", "odoherty", True),
        ("recordings/indy/80-20", "nwb", False),
        ("sine/shift", "sine", True),
        ("delayed-100/shift", "sine", True),
        ("drifting/shift", "drifting", False),
    ],
)
def test_a_study_reproduces_the_paper_on_its_data_or_on_its_synthetic_tasks(
    domain, source, reproduces
):
    study = found(domain, source)
    assert study.reproduces == reproduces
    assert study.simulated == (source == "simulated")
