"""The command line, as typed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from orla.results.base import columns

PLUGINS = Path(__file__).parents[1] / "plugins"


@pytest.fixture
def orla(write):
    def orla(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "orla", "prereg", *map(str, arguments)],
            cwd=write.folder.parent,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return orla


@pytest.fixture
def fitting(document):
    """The document with columns that the study's own tables have."""
    assert {"gap_pp", "low_pp", "high_pp", "n_seeds"} <= set(columns()["gaps"])
    return document


def test_a_statistic_of_a_plug_in_is_known_where_its_folder_is_named(orla, tmp_path):
    plugins = Path(__file__).parents[1] / "plugins"
    folder = shutil.copytree(plugins / "prereg", tmp_path / "own")
    (folder / "LOCK").unlink()
    given = ["lock", folder / "clip-holds.yaml", "--folder", folder]
    refused = orla(*given)
    assert refused.returncode == 1 and 'no result "gradient_norms"' in refused.stderr
    assert not (folder / "LOCK").exists()
    locked = orla(*given, "--plugins", plugins)
    assert locked.returncode == 0 and locked.stdout.startswith("locked clip-holds.yaml ")


def test_lock_then_verify_then_change(orla, write, fitting):
    path = write(fitting)
    locking = orla("lock", "prereg/small-gap.yaml")
    assert locking.returncode == 0 and locking.stdout.startswith("locked small-gap.yaml ")
    verifying = orla("verify")
    assert verifying.returncode == 0 and verifying.stdout.split()[1] == "small-gap"
    path.write_text(path.read_text() + "\n")
    for command in (["verify"], ["lock", "prereg/small-gap.yaml"]):
        refused = orla(*command)
        assert refused.returncode == 1 and refused.stderr.startswith("error: ")
        assert refused.stderr.count("\n") == 1 and "Traceback" not in refused.stderr


def test_a_column_that_does_not_exist_is_never_locked(orla, write, fitting):
    fitting["criteria"][0]["columns"]["estimate"] = "gap_percent"
    write(fitting)
    refused = orla("lock", "prereg/small-gap.yaml")
    assert refused.returncode == 1
    assert 'registration small-gap: result "gaps" has no column "gap_percent"' in refused.stderr
    assert not (write.folder / "LOCK").exists()


def test_any_table_in_results_can_be_named(orla, write, fitting):
    fitting["criteria"][0]["result"] = "structure"
    write(fitting)
    assert "there is no result" in orla("lock", "prereg/small-gap.yaml").stderr
    named = [*fitting["criteria"][0]["columns"].values(), "optimizer", "split"]
    results = write.folder.parent / "results"
    results.mkdir()
    pd.DataFrame(columns=named, dtype=float).to_parquet(results / "structure.parquet")
    assert orla("lock", "prereg/small-gap.yaml").returncode == 0
    assert orla("verify").returncode == 0
    (results / "structure.parquet").unlink()
    assert 'there is no result "structure"' in orla("verify").stderr


def test_a_table_of_a_plug_in_can_be_named(orla):
    given = ("verify", "--folder", PLUGINS / "prereg")
    assert 'there is no result "gradient_norms"' in orla(*given).stderr
    assert orla(*given, "--plugins", PLUGINS).stdout.endswith(" clip-holds\n")
