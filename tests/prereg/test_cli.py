"""The command line, as typed."""

import datetime
import shutil
from pathlib import Path

import made_claims
import pandas as pd
import pytest
import yaml

from orla import catalogue
from orla.__main__ import main
from orla.files import sha256
from orla.study.keys import DEFAULTS

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "tests/plugins"
PATH = "prereg/small-gap.yaml"
CHECK = {"name": "inside the grid", "why": "Best rates.", "result": "conditions", "column": "edge"}
CHECK |= {"where": {"optimizer": "adam"}, "region": {"equals": False}}


@pytest.fixture
def orla(write, monkeypatch, capsys):
    """Run a command in this process; what it printed, or the one line of its error."""
    monkeypatch.chdir(write.folder.parent)

    def orla(*arguments):
        code = 0
        try:
            main(["prereg", *map(str, arguments)])
        except SystemExit as exit:
            code = exit.code
        written = capsys.readouterr()
        if code:
            assert written.err.startswith("error: ") and written.err.count("\n") == 1
        return written.err if code else written.out

    return orla


@pytest.fixture
def results(write):
    """The folder of results beside that of the registrations."""
    folder = write.folder.parent / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def claims(orla, results):
    """The same with empty tables that have the columns of claims."""
    for name, table in made_claims.tables(made_claims.gaps(0.5)).items():
        table[:0].to_parquet(results / f"{name}.parquet")
    return results


def test_a_statistic_of_a_plug_in_is_known_where_its_folder_is_named(orla, write):
    path = shutil.copy(PLUGINS / "claims/clip-shortens.yaml", write.folder)
    assert 'no result "gradient_norms"' in orla("lock", path)
    assert orla("lock", path, "--plugins", PLUGINS).startswith("locked clip-shortens.yaml ")
    catalogue.use_plugins([])


def test_lock_then_verify_then_change(orla, write, claims, document):
    path = write(document)
    assert orla("lock", PATH).startswith("locked small-gap.yaml ")
    assert orla("verify").split()[1] == "small-gap"
    path.write_text(path.read_text() + "\n")
    assert "differs from its lock" in orla("verify")
    assert "with other content" in orla("lock", PATH)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"manipulation_checks": [CHECK | {"column": "edges"}]}, 'conditions" has no column "edge'),
        ({"binds": None}, "binds neither config nor behaviour"),
        ({"primary": False}, 'study "made" has 0 primary'),
    ],
)
def test_what_cannot_be_judged_is_never_locked(orla, write, claims, document, changes, words):
    write({key: value for key, value in (document | changes).items() if value is not None})
    assert words in orla("lock", PATH)
    assert not (write.folder / "LOCK").exists()


def test_any_table_in_results_can_be_named(orla, write, claims, document):
    write(document | {"manipulation_checks": [CHECK | {"result": "made"}]})
    assert "there is no result" in orla("lock", PATH)
    pd.DataFrame(columns=["optimizer", "edge"]).to_parquet(claims / "made.parquet")
    assert orla("lock", PATH) and "small-gap" in orla("verify")
    (claims / "made.parquet").unlink()
    assert 'there is no result "made"' in orla("verify")


def test_several_files_are_locked_at_once(orla, write, claims):
    write(made_claims.document(primary=False), "second")
    write(made_claims.document(), "first")
    assert "commit prereg/LOCK" in orla("lock", "prereg/first.yaml", "prereg/second.yaml")
    assert orla("verify").splitlines()[0].endswith(" first (history: not checked)")


def test_a_wide_margin_without_a_reason_is_not_even_bound(orla, write, claims):
    write(made_claims.document(claim={"equivalent_within": 8}))
    assert "a margin of 8 pp is wider than 5" in orla("bind", PATH)


def test_a_claim_in_a_folder_that_the_config_does_not_judge_is_not_bound(orla, write, monkeypatch):
    """Nothing would ever judge it."""
    path = shutil.copy(ROOT / "prereg/sgd-gap.yaml", write.folder)
    monkeypatch.chdir(ROOT)
    assert 'study "simulated" judges prereg; name' in orla("bind", path)


def test_a_study_has_one_primary_over_the_folders_that_its_config_judges_by(orla, write, claims):
    """Two folders with a primary each would leave the choice until the results are seen."""
    write(made_claims.document(), "first")
    folders = [write.folder, write.folder.with_name("second")]
    folders[1].mkdir()
    for primary in (True, False):
        path = write(made_claims.document(primary=primary), "second")
        path.rename(folders[1] / path.name)
        given = {"name": "made", "registrations": {"folders": [f.name for f in folders]}}
        Path("config.yaml").write_text(yaml.safe_dump(given))
        told = orla("lock", "second/second.yaml")
        words = 'study "made" has 2 primary registrations (first, second)'
        assert f"prereg, second: {words}" in told if primary else "locked second" in told
    assert "second" in orla("verify", "--folder", "second")


SWEEP = "sweeps/rnn/rtrl/adam/80-20"


def adapt(path, **changes):
    """What a job wrote of a condition."""
    keys = {"task": "many-arrays", "pair": "pair-3", "architecture": "rnn", "learner": "rtrl"}
    keys |= {"optimizer": "adam", "precision": "float64", "split": "80-20"} | DEFAULTS | changes
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([keys] * 2).to_parquet(path)


@pytest.mark.parametrize(
    ("changes", "bound", "refused"),
    [
        ({}, "results", True),
        ({"pair": ""}, "results", True),
        ({"precision": "float32"}, "results", False),
        ({"task": "recordings"}, "results", False),
        ({"learner": "tbptt-200-200"}, "results", False),
        ({"optimizer": "lars"}, "results", False),
        ({}, "mine", False),
    ],
)
def test_nothing_is_locked_once_a_result_exists(orla, write, claims, changes, bound, refused):
    """Sweeps and tables may have been deleted: statistics read what the job wrote."""
    write(made_claims.document(binds=made_claims.BINDS | {"results": [bound]}))
    files = [f"many-arrays/pair-3/{kind}/any/name.parquet" for kind in ("adaptation", "sweeps")]
    for file in files:
        adapt(claims / file, **changes)
    for file in files if refused else ():
        assert f"results/{file} exists, which it would read" in orla("lock", PATH)
        assert not (write.folder / "LOCK").exists()
        (claims / file).unlink()
    assert "locked small-gap" in orla("lock", PATH)


def test_lock_looks_at_every_folder_of_results_of_the_studies_configs(orla, write, claims):
    """The folder that --results names is empty, and another config of the study has results."""
    write(made_claims.document())
    config = write.folder.parent / "config" / "mine.yaml"
    config.parent.mkdir()
    config.write_text("name: made\npathvars: {results: results/mine}\n")
    file = f"mine/many-arrays/pair-3/{SWEEP}.parquet"
    adapt(claims / file)
    given = ("lock", PATH, "--results", claims / "empty")
    assert f"results/{file} exists" in orla(*given)
    config.write_text("name: other\npathvars: {results: results/mine}\n")
    assert "locked small-gap" in orla(*given)


def test_nothing_is_locked_once_a_table_holds_its_row(orla, write, claims, document):
    table = made_claims.tables(made_claims.gaps(0.5))["over_pairs"]
    table.to_parquet(claims / "over_pairs.parquet")
    write(document)
    assert "results/over_pairs.parquet exists, which it would read" in orla("lock", PATH)
    table.assign(split="30-70").to_parquet(claims / "over_pairs.parquet")
    assert "locked small-gap" in orla("lock", PATH)


def test_a_quantity_is_not_locked_once_one_of_its_sweeps_or_its_row_exists(orla, write, results):
    given = made_claims.document(quantity="turn", scale="", unit="seed", sample={"seeds": 5})
    given = {k: v for k, v in given.items() if k not in made_claims.GONE}
    given |= {"exclusions": {"max_diverged": 0}}
    sweep = "sine/sweeps/rnn/rtrl/adam/shift"
    write(given | {"binds": made_claims.BINDS | {"sweeps": [sweep]}})
    row = pd.DataFrame([made_claims.quantity_row(0.9)])
    row.to_parquet(results / "quantities.parquet")
    assert "results/quantities.parquet exists" in orla("lock", PATH)
    row.assign(quantity="other").to_parquet(results / "quantities.parquet")
    adapt(results / f"{sweep}.parquet", task="sine", pair="", split="shift")
    assert f"results/{sweep}.parquet exists" in orla("lock", PATH)
    (results / f"{sweep}.parquet").unlink()
    assert "locked small-gap" in orla("lock", PATH)


def test_an_amendment_says_what_was_seen_where_results_exist(orla, write, claims):
    path = write(made_claims.document())
    orla("lock", path)
    adapt(claims / f"many-arrays/pair-3/{SWEEP}.parquet")
    today = datetime.date.today().isoformat()
    given = {"registration": path.name, "sha256": sha256(path), "date": today}
    given |= {"changed": "Nothing.", "why": "It was seen."}
    file = write.folder / "amendments" / "seen.yaml"
    file.write_text(yaml.safe_dump(given | {"results_seen": False}))
    assert "says that no result had been seen" in orla("lock", file)
    file.write_text(yaml.safe_dump(given | {"results_seen": True}))
    assert "locked amendments/seen.yaml" in orla("lock", file)
    line, why = orla("verify").splitlines()
    assert line.endswith(" small-gap (amended) (history: not checked)") and "git history" in why


def test_power_is_printed_before_a_lock_for_a_given_or_estimated_sd(orla, write, results):
    write(made_claims.document())
    lines = orla("power", PATH, "--sd", "2").splitlines()
    assert "strictly between -3 and 3 pp, 12 pairs, standard deviation 2 pp, alpha 0.05" in lines[0]
    assert lines[2].split()[0] == "0" and float(lines[2].split()[1]) > 0.9
    assert lines[-1].split()[-1] == "never"
    assert "8 sound pairs" in orla("power", PATH, "--sd", "2", "--failing", "4")
    assert "give --sd" in orla("power", PATH)
    table = made_claims.tables(made_claims.gaps(0.5, 2.5))["over_pairs"]
    table.to_parquet(results / "over_pairs.parquet")
    assert "standard deviation 2.5 pp" in orla("power", PATH)
    write(made_claims.document(primary=False, claim={"more_than": 3}), "second")
    write(made_claims.document(primary=False, claim={"more_than": 5}), "third")
    assert "alpha 0.025" in orla("power", "prereg/second.yaml", "--sd", "2")
