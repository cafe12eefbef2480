"""What the quick study costs, without a clock: the same counts on every machine."""

import pytest
from running import ROOT

from orla.provenance import account

QUICK = ROOT / "results/quick"
# About a tenth above what it takes.
MOST = {"processes": 20, "pytorch": 15, "programs": 0, "size_bytes": 10_000_000}
SCORED_A_STEP_ADAPTED = 11.0  # uncompiled sessions of 90 s are nearly all windows that are scored


@pytest.mark.skipif(not QUICK.is_dir(), reason="the quick study was not run here")
def test_the_quick_study_stays_within_its_budget():
    counts = account.counts(QUICK)
    assert counts["steps_learners"] > 500_000, "the cost files are not those of a whole study"
    for name, most in MOST.items():
        assert counts[name] <= most, name
    assert counts["steps_scoring"] <= SCORED_A_STEP_ADAPTED * counts["steps_learners"]
