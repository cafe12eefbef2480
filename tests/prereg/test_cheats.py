"""The whole way from files to verdicts: what was once accepted is refused, or ends untestable."""

import datetime
import runpy
from pathlib import Path
from types import SimpleNamespace

import made_claims
import pytest
import yaml
from made_claims import BINDS

from orla.files import sha256
from orla.prereg import binding, lock
from orla.provenance import collect
from orla.provenance.tables import read_table, write_table
from orla.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
DAY = datetime.date(2026, 11, 22)
SOURCE = {
    "code": {"commit": "unknown", "files": {"orla/made.py": "1" * 64}},
    "datasets": {"many-arrays/pair-0/80-20": {"name": "made up", "simulated": True}},
    "config": {"statistics": {"alpha": 0.05}},
}


@pytest.fixture(scope="module")
def config():
    return read_yaml(ROOT / "config.yaml")


@pytest.fixture
def study(write, config, tmp_path, monkeypatch):
    """A study of two claims, its tables written and its registrations locked."""
    write(made_claims.document(), "primary")
    write(made_claims.document(primary=False, claim={"more_than": -3}), "second")
    lock.lock_files(write.folder, sorted(write.folder.glob("*.yaml")), DAY)
    sources, others = {}, []
    tables = made_claims.tables(made_claims.gaps(0.5))
    output = {name: str(tmp_path / f"{name}.parquet") for name in ("verdicts", "power")}
    behaviour = {name: BINDS[name] for name in ("parts", "syntax_sha256")}

    def judged(study="made", unsourced="", dirty=False, behaves=behaviour, allow_mixed=False):
        monkeypatch.setattr(collect, "commit_state", lambda: {"commit": "unknown", "dirty": dirty})
        monkeypatch.setattr(binding, "behaviour_fingerprints", lambda *_: behaves)
        (tmp_path / "models.txt").write_text("adapted")
        for name, table in tables.items():
            files = [] if name == unsourced else [tmp_path / "models.txt"]
            write_table(table, tmp_path / f"{name}.parquet", sources.get(name, SOURCE), files)
        names = ("primary", "second", *(path.stem for f in others for path in f.glob("*.yaml")))
        given = SimpleNamespace(
            config=config,
            log=[tmp_path / "log"],
            input=Inputs([write.folder, *others], [str(tmp_path / f"{n}.parquet") for n in tables]),
            output=SimpleNamespace(**output),
            params=SimpleNamespace(
                study=study, bindings=dict.fromkeys(names, BINDS), allow_mixed=allow_mixed
            ),
        )
        try:
            runpy.run_path(str(ROOT / "workflow/scripts/verdict.py"), {"snakemake": given})
        except SystemExit:
            return (tmp_path / "log").read_text()
        return read_table(output["verdicts"]).set_index("registration")

    def another(name, claim, primary):
        """Lock a second folder with one registration of the same study."""
        folder = tmp_path / "another"
        folder.mkdir()
        path = write(made_claims.document(primary=primary, claim=claim), "moved")
        lock.lock_files(folder, [path.rename(folder / f"{name}.yaml")], DAY)
        others.append(folder)

    judged.folder, judged.sources, judged.another = write.folder, sources, another
    return judged


class Inputs(list):
    """What a script is given as its inputs: all of them, and those of a name."""

    def __init__(self, folders, tables):
        self.locks, self.tables = [str(folder / "LOCK") for folder in folders], tables
        super().__init__([*self.locks, *tables])


def test_an_honest_study_is_judged(study):
    found = study()
    assert list(found.index) == ["primary", "second"]
    assert list(found["words"]) == ["shown in simulation"] * 2
    assert found["registered_on"].eq("2026-11-22").all() and not found["amended"].any()
    assert found["lock_sha256"].equals(found["judged_sha256"])
    assert found["limits"].str.contains("read from ").all()
    assert study(study="quick").empty
    assert "over_pairs.parquet: names no file that it was made" in study(unsourced="over_pairs")


DIFFERENT = {
    "data": {"datasets": {"many-arrays/pair-0/80-20": {"name": "another", "simulated": False}}},
    "code": {"code": {"commit": "unknown", "files": {"orla/made.py": "2" * 64}}},
    "locks": {"prereg_lock_sha256": "3" * 64},
}


@pytest.mark.parametrize("what", sorted(DIFFERENT))
def test_a_table_of_another_study_beside_the_others_is_refused_by_name(study, what):
    study.sources["over_pairs"] = SOURCE | DIFFERENT[what]
    error = study()
    assert f"error: results of different {what} cannot stand in one table" in error
    if what == "data":
        assert "over_pairs.parquet" in error
        found = study(allow_mixed=True)
        assert found["outcome"].eq("untestable").all()
        assert found["reason"].str.startswith("results of different data").all()


def test_results_of_other_code_than_behaves_as_bound_are_refused(study):
    files = {"orla/study/rolling.py": "e" * 64, "orla/study/unused.py": "e" * 64}
    source = SOURCE | {"code": {"commit": "unknown", "files": files}}
    study.sources.update(dict.fromkeys(("over_pairs", "estimates"), source))
    assert "the present code differs from " in (error := study())
    assert " in orla/study/rolling.py; delete what is out of date" in error


def test_claims_that_are_not_primary_are_one_family_over_all_folders(study):
    study.another("third", {"more_than": -0.5}, False)
    found = study()
    p, corrected = found["p"], found["p_holm"]
    assert corrected["second"] == pytest.approx(2 * p["second"])
    assert corrected["third"] == pytest.approx(max(p["third"], 2 * p["second"]))


@pytest.mark.parametrize(
    ("name", "primary", "words"),
    [
        ("escaped", True, 'study "made" has 2 primary registrations (primary, escaped)'),
        ("primary", False, "/another; locks are told apart by its name"),
    ],
)
def test_folders_of_a_study_share_no_file_name_and_one_primary(study, name, primary, words):
    """A lock of one name in another folder would stand for the other's."""
    study.another(name, {"more_than": -1}, primary)
    assert words in study()


@pytest.mark.parametrize(
    ("guards", "dirty", "words"),
    [
        ("1" * 16, None, ""),  # nothing is known of what is not committed
        ("1" * 16, True, "made by uncommitted code"),
        ("3" * 16, False, "guards does not behave as registered (333"),
    ],
)
def test_behaviour_is_held_to_what_was_bound(study, guards, dirty, words):
    source = SOURCE | {"code": SOURCE["code"] | {"dirty": dirty}}
    study.sources.update(dict.fromkeys(("over_pairs", "estimates"), source))
    behaves = {"syntax_sha256": "b" * 64, "parts": BINDS["parts"] | {"guards": guards}}
    found = study(dirty=dirty, behaves=behaves)
    assert found["outcome"].eq("untestable" if words else "supported").all()
    assert found["reason"].str.contains(words, regex=False).all()


def test_an_amendment_is_shown_and_moves_no_date(study):
    """A file cannot carry a date of its own, and an amendment's is shown beside the lock's."""
    path = study.folder / "primary.yaml"
    text = path.read_text()

    def amend(name):
        file = path.parent / f"amendments/{name}.yaml"
        given = {"registration": path.name, "sha256": sha256(path), "date": "2026-11-22"}
        file.write_text(yaml.safe_dump(given | {"changed": "x", "why": "x", "results_seen": True}))
        lock.lock_files(path.parent, [file], DAY)

    path.write_text(text + "date: 2020-01-01\n")
    amend("first")
    assert '"date" is not a known key' in study()
    path.write_text(text)
    assert "differs from its last amendment" in study()
    amend("second")
    row = study().loc["primary"]
    assert row["amended"] and row["registered_on"] == "2026-11-22"
    seen = "amended on 2026-11-22: results had been seen"
    assert (
        row["results_seen"] == f"made up: none seen by nobody (It did not exist.); {seen}; {seen}"
    )
