"""What reports are told of a study."""

import importlib.util
from types import SimpleNamespace

import pytest
from running import ROOT

SPEC = importlib.util.spec_from_file_location("facts", ROOT / "workflow/scripts/facts.py")
facts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(facts)


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
    statistics = {"margin_pp": 3.0, "alpha": 0.05, "resamples": 10, "seed": 0, "main": "gap"}
    given = {
        "name": "mine",
        "statistics": statistics,
        "comparisons": {"gap": {"minus": ["rtrl", "immediate"], "label": "full"}},
        "recordings": ["recordings"],
        "papers_task": "",
        "instances": {},
        "pretraining": {},
    }
    params = SimpleNamespace(plugins=[], facts=given)
    found = facts.facts_of(params, {"datasets": {domain: {"source": source, "label": "data"}}})
    assert found.reproduces == reproduces
    assert found.simulated == (source == "simulated")
