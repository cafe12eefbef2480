"""Whatever befalls a run, the same command goes on: the same bits, one command by hand at most."""

import os
import sys

import interruptions
import pytest
import tables_of_docs

can_mount = sys.platform == "linux" and os.geteuid() == 0


@pytest.mark.full
@pytest.mark.skipif(not can_mount, reason="disks are filled and made read-only: root on Linux")
def test_a_study_ends_right_whatever_befalls_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    trials = interruptions.trials()
    interruptions.all_of_them(tmp_path, trials)
    assert [(trial.harm, trial.seed, trial.faults) for trial in trials if trial.faults] == []
    assert {command for trial in trials for command in trial.by_hand} <= {"snakemake --unlock"}


def test_the_table_of_the_docs_is_of_these_trials():
    told = [cells[:1] for cells in tables_of_docs.held("interruptions")]
    assert told == [[harm] for harm in interruptions.HARMS], "run python tests/interruptions.py"
