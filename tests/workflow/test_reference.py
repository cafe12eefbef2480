"""What stands beside the workflow: docs/reference.md, the linter, and the quick study's budget."""

import importlib.util

import pytest
from running import ROOT

from orla.provenance import cost

QUICK = ROOT / "results/quick"
# About a tenth above what it takes, in counts that are the same on every machine.
MOST = {"processes": 20, "pytorch": 15, "programs": 0, "size_bytes": 10_000_000}
SCORED_A_STEP_ADAPTED = 4.8
FINDINGS = """Lints for rule sweep (line 14, workflow/rules/sweeps.smk):
    * Specify a conda environment or container for each rule.:
      This way, the used software for each specific step is documented.
    * No log directive defined:
      Without a log directive, all output will be printed to the terminal.
"""


def module(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"workflow/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_declares():
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    told = "docs/reference.md is out of date; run: make reference"
    assert written == module("reference").reference(), told


def test_only_what_has_a_stated_reason_passes_the_linter():
    lint = module("lint")
    assert lint.remaining(FINDINGS) == [
        "rule sweep (line 14, workflow/rules/sweeps.smk): No log directive defined"
    ]


@pytest.mark.skipif(not QUICK.is_dir(), reason="the quick study was not run here")
def test_the_quick_study_stays_within_its_budget_of_processes_steps_and_bytes():
    costs = [*filter(None, map(cost.read_cost, QUICK.rglob("*.cost.json")))]
    first = [each for each in costs if "starting" in each["cpu_by_phase_s"]]  # of a process
    counts = {
        "processes": len(first),
        "pytorch": sum(each["pytorch"] for each in first),
        "programs": sum(each["programs"] for each in costs),
        "size_bytes": sum(file.stat().st_size for file in QUICK.rglob("*") if file.is_file()),
    }
    for name in ("learners", "scoring"):
        counts[f"steps_{name}"] = sum(each["steps"].get(name, 0) for each in costs)
    assert counts["steps_learners"] > 500_000, "the cost files are not those of a whole study"
    for name, most in MOST.items():
        assert counts[name] <= most, name
    assert counts["steps_scoring"] <= SCORED_A_STEP_ADAPTED * counts["steps_learners"]
