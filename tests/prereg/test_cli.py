"""The command line, as typed."""

import datetime
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import made_claims
import pandas as pd
import pytest
import yaml

from orla.__main__ import main
from orla.files import sha256
from orla.results.base import columns

PLUGINS = Path(__file__).parents[1] / "plugins"


@pytest.fixture
def orla(write, monkeypatch, capsys):
    """Run a command in this process."""
    monkeypatch.chdir(write.folder.parent)

    def orla(*arguments):
        try:
            main(["prereg", *map(str, arguments)])
            code = 0
        except SystemExit as exit:
            code = exit.code
        written = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=written.out, stderr=written.err)

    return orla


@pytest.fixture
def apart(write):
    """Run a command in a process of its own, which no plug-in was loaded into."""

    def apart(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "orla", "prereg", *map(str, arguments)],
            cwd=write.folder.parent,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return apart


@pytest.fixture
def fitting(document):
    """The document with columns that the study's own tables have."""
    assert {"gap_pp", "low_pp", "high_pp", "n_seeds"} <= set(columns()["gaps"])
    return document


def test_a_statistic_of_a_plug_in_is_known_where_its_folder_is_named(apart, tmp_path):
    plugins = Path(__file__).parents[1] / "plugins"
    folder = shutil.copytree(plugins / "registrations", tmp_path / "own")
    (folder / "LOCK").unlink()
    given = ["lock", folder / "clip-holds.yaml"]
    refused = apart(*given)
    assert refused.returncode == 1 and 'no result "gradient_norms"' in refused.stderr
    assert not (folder / "LOCK").exists()
    locked = apart(*given, "--plugins", plugins)
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


@pytest.fixture
def claims(orla, write):
    """A folder beside empty tables that have the columns of claims, to lock claims in."""
    results = write.folder.parent / "results"
    results.mkdir()
    for name, table in made_claims.tables(made_claims.gaps(0.5)).items():
        table[:0].to_parquet(results / f"{name}.parquet")
    return results


def test_a_claim_is_locked_with_its_primary_alone(orla, write, claims):
    write(made_claims.document(primary=False), "second")
    refused = orla("lock", "prereg/second.yaml")
    assert refused.returncode == 1 and 'study "made" has 0 primary' in refused.stderr
    write(made_claims.document(), "first")
    locked = orla("lock", "prereg/first.yaml", "prereg/second.yaml")
    assert locked.returncode == 0 and "commit prereg/LOCK" in locked.stdout
    assert orla("verify").stdout.splitlines()[0].endswith(" first (history: not checked)")
    write(made_claims.document(), "third")
    assert "has 2 primary" in orla("lock", "prereg/third.yaml").stderr


def test_a_claim_that_binds_nothing_is_not_locked(orla, write, claims):
    given = made_claims.document()
    del given["binds"]
    write(given)
    assert "binds neither config nor behaviour" in orla("lock", "prereg/small-gap.yaml").stderr


SWEEP = "sweeps/rnn/rtrl/adam/80-20"


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        (f"many-arrays/pair-3/{SWEEP}.parquet", True),
        (f"many-arrays/{SWEEP}.parquet", True),
        (f"many-arrays/{SWEEP}/float32.parquet", True),
        (f"recordings/{SWEEP}.parquet", False),
        (f"many-arrays/{SWEEP.replace('rtrl', 'tbptt-200-200')}.parquet", False),
        (f"many-arrays/{SWEEP.replace('adam', 'lars')}.parquet", False),
    ],
)
def test_nothing_is_locked_once_a_result_exists(orla, write, claims, file, refused):
    write(made_claims.document())
    path = claims / file
    path.parent.mkdir(parents=True)
    path.touch()
    given = orla("lock", "prereg/small-gap.yaml")
    assert (given.returncode == 1) == refused
    if refused:
        assert f"results/{file} exists, which it would read" in given.stderr
        assert not (write.folder / "LOCK").exists()


def test_lock_looks_at_every_folder_of_results_of_the_studies_configs(orla, write, claims):
    """The folder that --results names is empty, and another config of the study has results."""
    write(made_claims.document())
    config = write.folder.parent / "config" / "mine.yaml"
    config.parent.mkdir()
    config.write_text("name: made\npathvars: {results: results/mine}\n")
    sweep = claims / "mine" / f"many-arrays/pair-3/{SWEEP}.parquet"
    sweep.parent.mkdir(parents=True)
    sweep.touch()
    given = ("lock", "prereg/small-gap.yaml", "--results", claims / "empty")
    assert f"results/mine/many-arrays/pair-3/{SWEEP}.parquet exists" in orla(*given).stderr
    config.write_text("name: other\npathvars: {results: results/mine}\n")
    assert orla(*given).returncode == 0


def test_lock_does_not_look_at_another_studys_results(orla, write, claims):
    write(made_claims.document(binds=made_claims.document()["binds"] | {"results": ["mine"]}))
    sweep = claims / f"many-arrays/pair-3/{SWEEP}.parquet"
    sweep.parent.mkdir(parents=True)
    sweep.touch()
    assert orla("lock", "prereg/small-gap.yaml").returncode == 0


def test_nothing_is_locked_once_a_table_holds_its_row(orla, write, fitting):
    results = write.folder.parent / "results"
    results.mkdir()
    row = {"optimizer": "adam", "split": "50-50", "task": "recordings"}
    pd.DataFrame([row]).to_parquet(results / "gaps.parquet")
    write(fitting)
    refused = orla("lock", "prereg/small-gap.yaml")
    assert "results/gaps.parquet exists, which it would read" in refused.stderr
    pd.DataFrame([row | {"split": "80-20"}]).to_parquet(results / "gaps.parquet")
    assert orla("lock", "prereg/small-gap.yaml").returncode == 0


def test_an_amendment_says_what_was_seen_where_results_exist(orla, write, claims):
    path = write(made_claims.document())
    assert orla("lock", path).returncode == 0
    sweep = claims / f"many-arrays/pair-3/{SWEEP}.parquet"
    sweep.parent.mkdir(parents=True)
    sweep.touch()
    today = datetime.date.today().isoformat()
    given = {"registration": path.name, "sha256": sha256(path), "date": today}
    given |= {"changed": "Nothing.", "why": "It was seen."}
    file = write.folder / "amendments" / "seen.yaml"
    file.write_text(yaml.safe_dump(given | {"results_seen": False}))
    assert "says that no result had been seen" in orla("lock", file).stderr
    file.write_text(yaml.safe_dump(given | {"results_seen": True}))
    assert "locked amendments/seen.yaml" in orla("lock", file).stdout
    assert orla("verify").stdout.endswith(" small-gap (amended) (history: not checked)\n")


def test_power_is_told_before_anything_is_locked(orla, write):
    write(made_claims.document())
    told = orla("power", "prereg/small-gap.yaml", "--sd", "2")
    lines = told.stdout.splitlines()
    assert (
        "strictly between -3 and 3 pp, 12 pairs, standard deviation 2 pp, alpha 0.05" in (lines[0])
    )
    assert lines[2].split()[0] == "0" and float(lines[2].split()[1]) > 0.9
    assert lines[-1].split()[-1] == "never"
    fewer = orla("power", "prereg/small-gap.yaml", "--sd", "2", "--failing", "4").stdout
    assert "8 sound pairs" in fewer
    refused = orla("power", "prereg/small-gap.yaml")
    assert refused.returncode == 1 and "give --sd" in refused.stderr
    write(made_claims.document(primary=False, claim={"more_than": 3}), "second")
    write(made_claims.document(primary=False, claim={"more_than": 5}), "third")
    assert "alpha 0.025" in orla("power", "prereg/second.yaml", "--sd", "2").stdout


def test_power_takes_the_scatter_of_results(orla, write):
    results = write.folder.parent / "results"
    results.mkdir()
    table = made_claims.tables(made_claims.gaps(0.5, 2.5))["over_pairs"]
    table.to_parquet(results / "over_pairs.parquet")
    write(made_claims.document())
    assert "standard deviation 2.5 pp" in orla("power", "prereg/small-gap.yaml").stdout


def test_power_is_of_later_versions(orla, write, fitting):
    write(fitting)
    assert "a registration of version 1" in orla("power", "prereg/small-gap.yaml").stderr
