"""The whole way from files to verdicts: what was once accepted is refused, or ends untestable."""

import datetime
import hashlib
import runpy
from pathlib import Path
from types import SimpleNamespace

import made_claims
import pytest
import yaml
from made_claims import BINDS

from orla.prereg import binding, chain, lock
from orla.provenance import collect
from orla.provenance.tables import read_table, write_table

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "workflow" / "scripts" / "verdict.py"
DAY = datetime.date(2026, 11, 22)
SOURCE = {
    "code": {"commit": "unknown", "files": {"orla/tasks/recordings.py": "1" * 64}},
    "datasets": {"many-arrays/pair-0/80-20": {"name": "made up", "simulated": True}},
    "config": {"statistics": {"alpha": 0.05}},
}


@pytest.fixture
def study(write, tmp_path, monkeypatch):
    """A study of two claims and one interval, its tables written and its registrations locked."""
    write(made_claims.document(), "primary")
    write(made_claims.document(primary=False, claim={"more_than": -3}), "second")
    lock.write(write.folder, sorted(write.folder.glob("*.yaml")), DAY)
    sources = {}
    clean = {"commit": "unknown", "dirty": False}
    monkeypatch.setattr(collect, "code", lambda: clean)
    behaviour = {name: BINDS[name] for name in ("parts", "syntax_sha256")}
    monkeypatch.setattr(binding, "behaviour", lambda *_: behaviour)

    def judged(allow_mixed=False, study="made", bindings=None, unsourced="", folders=(), **tables):
        made = made_claims.tables(made_claims.gaps(0.5)) | tables
        paths = [tmp_path / f"{name}.parquet" for name in made]
        models = tmp_path / "models.txt"
        models.write_text("adapted")
        for path, table in zip(paths, made.values(), strict=True):
            files = [] if path.stem == unsourced else [models]
            write_table(table, path, sources.get(path.stem, SOURCE), files)
        output = tmp_path / "verdicts.parquet"
        bound = dict.fromkeys(("primary", "second"), BINDS) if bindings is None else bindings
        given = SimpleNamespace(
            config=yaml.safe_load((ROOT / "config.yaml").read_text()),
            log=[tmp_path / "log"],
            input=Inputs([write.folder, *folders], list(map(str, paths))),
            output=SimpleNamespace(verdicts=str(output), power=str(tmp_path / "power.parquet")),
            params=SimpleNamespace(
                study=study, assumed={}, bindings=bound, allow_mixed=allow_mixed
            ),
        )
        try:
            runpy.run_path(str(SCRIPT), {"snakemake": given})
        except SystemExit:
            return (tmp_path / "log").read_text()
        return read_table(output)

    judged.folder, judged.sources, judged.write = write.folder, sources, write
    return judged


class Inputs(list):
    """What a script is given as its inputs: all of them, and those of a name."""

    def __init__(self, folders, tables):
        self.locks, self.tables = [str(folder / "LOCK") for folder in folders], tables
        super().__init__([*self.locks, *tables])


def test_an_honest_study_is_judged(study):
    found = study()
    assert list(found["registration"]) == ["primary", "second"]
    assert list(found["words"]) == ["shown in simulation"] * 2
    assert list(found["primary"]) == [True, False]
    assert found["registered_on"].eq("2026-11-22").all()
    assert found["history"].eq("not checked").all() and not found["amended"].any()
    assert found["lock_sha256"].equals(found["judged_sha256"])


DIFFERENT = {
    "data": {"datasets": {"many-arrays/pair-0/80-20": {"name": "another", "simulated": False}}},
    "code": {"code": {"commit": "unknown", "files": {"orla/tasks/recordings.py": "2" * 64}}},
}


@pytest.mark.parametrize("what", sorted(DIFFERENT))
def test_a_table_of_another_study_beside_the_others_is_refused_by_name(study, what):
    study.sources["over_pairs"] = SOURCE | DIFFERENT[what]
    error = study()
    assert f"error: results of different {what} cannot stand in one table" in error
    assert "over_pairs.parquet" in error
    found = study(allow_mixed=True)
    assert found["outcome"].eq("untestable").all()
    assert found["reason"].str.startswith(f"results of different {what}").all()


def test_a_table_that_names_no_file_it_was_made_from_is_refused(study):
    assert "over_pairs.parquet: names no file that it was made from" in study(
        unsourced="over_pairs"
    )


@pytest.fixture
def another(study, tmp_path):
    """A second folder of registrations of the same study, each (name, claim, primary)."""

    def another(*claims):
        folder = tmp_path / "another"
        folder.mkdir()
        for name, claim, primary in claims:
            path = study.write(made_claims.document(primary=primary, claim=claim), name)
            path.rename(folder / path.name)
        lock.write(folder, sorted(folder.glob("*.yaml")), DAY)
        return folder

    return another


def test_a_study_has_one_primary_over_all_its_folders(study, another):
    folder = another(("escaped", {"more_than": -1}, True))
    bindings = dict.fromkeys(("primary", "second", "escaped"), BINDS)
    told = study(folders=[folder], bindings=bindings)
    assert 'study "made" has 2 primary registrations (primary, escaped)' in told


def test_the_others_of_all_folders_are_one_family(study, another):
    folder = another(("third", {"more_than": -0.5}, False))
    bindings = dict.fromkeys(("primary", "second", "third"), BINDS)
    found = study(folders=[folder], bindings=bindings).set_index("registration")
    assert found["p_holm"]["second"] == pytest.approx(2 * found["p"]["second"])
    assert found["p_holm"]["third"] == pytest.approx(
        max(found["p"]["third"], 2 * found["p"]["second"])
    )


def test_a_table_that_was_judged_under_another_lock_is_refused_by_name(study):
    study.sources["over_pairs"] = SOURCE | {"prereg_lock_sha256": "3" * 64}
    assert "results of different locks cannot stand in one table" in study()


def test_a_table_made_at_another_alpha_is_untestable(study):
    tables = made_claims.tables(made_claims.gaps(0.5), alpha=0.45)
    found = study(over_pairs=tables["over_pairs"])
    assert found["outcome"].eq("untestable").all()
    assert found["reason"].str.contains("was made at alpha 0.45, and 0.05 is registered").all()


def test_another_config_than_the_bound_one_is_untestable(study):
    other = BINDS | {"record_sha256": "d" * 64}
    found = study(bindings={"primary": other, "second": BINDS})
    assert list(found["outcome"]) == ["untestable", "supported"]


@pytest.mark.parametrize(
    ("part", "dirty", "outcome", "words"),
    [
        ("1" * 16, False, "supported", "read from "),
        ("1" * 16, None, "supported", "read from "),
        ("1" * 16, True, "untestable", "made by uncommitted code"),
        ("3" * 16, False, "untestable", "guards does not behave as registered (333"),
    ],
)
def test_behaviour_is_held_to_what_was_bound(study, monkeypatch, part, dirty, outcome, words):
    given = made_claims.document(primary=False, claim={"more_than": -3})
    study.write(given, "third")
    lock.write(study.folder, [study.folder / "third.yaml"], DAY)
    other = {"syntax_sha256": "b" * 64, "parts": BINDS["parts"] | {"guards": part}}
    monkeypatch.setattr(binding, "behaviour", lambda *_: other)
    source = SOURCE | {"code": SOURCE["code"] | {"dirty": dirty}}
    study.sources.update(dict.fromkeys(("over_pairs", "estimates"), source))
    monkeypatch.setattr(collect, "code", lambda: {"commit": "unknown", "dirty": dirty})
    bindings = dict.fromkeys(("primary", "second", "third"), BINDS)
    row = study(bindings=bindings).set_index("registration").loc["third"]
    assert row["outcome"] == outcome and words in row["reason"] + row["limits"]


def test_another_study_judges_nothing(study):
    assert study(study="quick").empty


def change(study):
    path = study.folder / "second.yaml"
    path.write_text(path.read_text().replace("more_than: -3", "more_than: -9"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_lock_written_anew_has_the_day_on_which_it_was_written(study):
    (study.folder / "LOCK").unlink()
    later = datetime.date(2031, 1, 1)
    lock.write(study.folder, sorted(study.folder.glob("*.yaml")), later)
    assert study()["registered_on"].eq("2031-01-01").all()


def amend(path):
    """Amend a registration with results seen, and lock the amendment."""
    amendment = path.parent / "amendments" / f"2026-11-22-{path.name}"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    amendment.write_text(
        f"registration: {path.name}\nsha256: {digest}\ndate: 2026-11-22\n"
        "changed: Something.\nwhy: It was seen.\nresults_seen: true\n"
    )
    lock.write(path.parent, [amendment], DAY)


def test_a_date_of_an_amendment_does_not_move_the_day_of_locking(study):
    """A file cannot carry a date of its own, and an amendment's is shown beside the lock's."""
    path = study.folder / "primary.yaml"
    path.write_text(path.read_text() + "date: 2020-01-01\n")
    amend(path)
    assert '"date" is not a known key' in study()
    path.write_text(path.read_text().replace("date: 2020-01-01\n", ""))
    assert "differs from its last amendment" in study()


def test_an_amended_registration_says_what_had_been_seen(study):
    amend(study.folder / "primary.yaml")
    found = study().iloc[0]
    assert found["amended"] and found["registered_on"] == "2026-11-22"
    assert found["results_seen"].endswith("amended on 2026-11-22: results had been seen")


def test_a_chain_that_is_forged_whole_is_another_lock_than_the_committed_one(study):
    """Without git a forged chain holds; with it, see test_history."""
    file = study.folder / "LOCK"
    digest = change(study)
    text = ""
    for line in chain.parse(file.read_text(), file):
        same = digest if line.file == "second.yaml" else line.sha256
        text = chain.extended(text, chain.Line(line.file, same, line.date))
    file.write_text(text)
    assert study()["history"].eq("not checked").all()
