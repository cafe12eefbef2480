"""Which kept conditions and networks a job takes over, and which it makes again."""

import shutil
from types import SimpleNamespace

import pytest

from orla.errors import OrlaError
from orla.provenance import collect, networks
from orla.provenance.arrays import read_arrays
from orla.provenance.tables import read_table
from orla.sessions.streams import episode_settings
from orla.study import adaptation
from orla.study.keys import DEFAULTS, KEYS
from orla.study.sweep import Sweep

TASK = {"kind": "sine", "pretraining": 240, "adapt": 80, "heldout": 40, "window": 20}
LONGER = TASK | {"pretraining": 480}
NETWORK = {"kind": "rnn", "hidden": 3}
COMPUTE = {"batch_models": 4, "compile": False}
PRETRAINED = {
    "network": NETWORK,
    "name": "small",
    "precision": "float64",
    "seeds": 2,
    "split": "shift",
    "settings": {"max_epochs": 1, "window": 20},
    "parts": [("architecture", "rnn")],
}


def job(learner, optimizer):
    keys = dict.fromkeys(KEYS, "") | DEFAULTS | {"task": "wave", "architecture": "small"}
    keys |= {"precision": "float64", "split": "shift"}
    return {
        "keys": keys | {"learner": learner, "optimizer": optimizer},
        "seeds": 2,
        "network": NETWORK,
        "learner": {"kind": learner},
        "optimizer": {"kind": optimizer},
        "start": {"kind": "pretrained"},
        "observers": {},
        "interventions": [],
        "probes": [],
        "learning_rates": [0.01],
        "growth": 0,
        "horizons": [],
        "stable_windows": 2,
        "for_resamples": False,
    }


JOBS = {f"{x} {y}": job(x, y) for x in ("immediate", "last-layer") for y in ("sgd", "adam")}


class Folder:
    """A job's folder; `adapted` says which conditions a run of the job adapts."""

    def __init__(self, path, capsys):
        self.path, self.capsys = path, capsys

    @property
    def networks(self):
        return self.path / "networks.safetensors"

    def pretrained(self, request=PRETRAINED, task=TASK, compute=COMPUTE):
        episodes = adaptation.Episodes(task, 2)
        adaptation.pretrain_networks(request, episodes, str(self.networks), compute)
        return episodes

    def adapted(self, jobs=JOBS, task=TASK, compute=COMPUTE):
        episodes = self.pretrained(task=task, compute=compute)
        named = {f"{self.path}/{name}": job for name, job in jobs.items()}
        written = f"{self.path}/all.parquet", f"{self.path}/all.npz"
        self.capsys.readouterr()
        adaptation.adapt(named, episodes, str(self.networks), *written, compute=compute)
        said = self.capsys.readouterr().err.splitlines()
        lines = [line for line in said if f" of {len(jobs)}: " in line]
        assert len(lines) == len(jobs)
        return {line.rpartition("/")[2] for line in lines if not line.endswith(", kept")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return tmp_path_factory.mktemp("job")


@pytest.fixture
def folder(finished, tmp_path, capsys, monkeypatch):
    """A copy of the finished job, in whose place every further sweep is one that was made."""
    if not any(finished.iterdir()):
        assert Folder(finished, capsys).adapted() == set(JOBS)
    shutil.copytree(finished, tmp_path / "job")
    table = read_table(finished / "immediate sgd.parquet")
    made = Sweep(table, read_arrays(finished / "immediate sgd.npz")[0])
    run = SimpleNamespace(baseline={}, batch_models=4)
    monkeypatch.setattr(adaptation, "make_run", lambda *_, **__: run)
    monkeypatch.setattr(adaptation, "sweep", lambda *_, **__: made)
    return Folder(tmp_path / "job", capsys)


def test_nothing_is_made_again_and_the_tables_are_those_of_the_conditions(folder):
    before = {file: file.read_bytes() for file in folder.path.iterdir()}
    assert folder.adapted() == set()
    assert before == {file: file.read_bytes() for file in folder.path.iterdir()}
    table, arrays = read_table(folder.path / "all.parquet"), read_arrays(folder.path / "all.npz")[0]
    expected = [job["keys"] for job in JOBS.values()]
    split = list(adaptation.split_by_condition(table, arrays, expected))
    for name, (long, traces) in zip(JOBS, split, strict=True):
        own = read_table(folder.path / f"{name}.parquet")
        assert (long["value"] == own["value"]).sum() > 20 and len(long) == len(own)
        theirs, _ = read_arrays(folder.path / f"{name}.npz")
        assert all((traces[key] == values).all() for key, values in theirs.items())
    for others in (expected[1:], expected[::-1], [*expected, expected[0]]):
        with pytest.raises(OrlaError, match=r"holds .* in place of .*; delete it and run again"):
            list(adaptation.split_by_condition(table, arrays, others))


@pytest.mark.parametrize(
    "change",
    [
        *({"learning_rates": [0.03]}, {"horizons": [40]}, {"stable_windows": 1}, {"growth": 1}),
        *({"seeds": 1}, {"network": NETWORK | {"hidden": 4}, "start": {"kind": "fresh"}}),
    ],
    ids=str,
)
def test_a_changed_setting_reruns_its_condition_alone(folder, change):
    name = "last-layer sgd"
    assert folder.adapted(JOBS | {name: JOBS[name] | change}) == {name}
    assert folder.adapted() == {name}


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ("orla/optimizers/sgd.py", {"immediate sgd", "last-layer sgd"}),
        ("orla/learners/last_layer.py", {"last-layer sgd", "last-layer adam"}),
        ("orla/engine/loop.py", set(JOBS)),
        ("orla/reports/page.py", set()),
    ],
)
def test_a_changed_source_file_reruns_what_depends_on_it(folder, monkeypatch, change, again):
    def sources(*roots):
        return {n: "0" * 64 if n == change else digest for n, digest in real(*roots).items()}

    real = collect.source_digests
    monkeypatch.setattr(collect, "source_digests", sources)
    assert folder.adapted() == again


def test_other_data_arithmetic_or_machines_rerun_every_condition(folder, monkeypatch):
    one = {"last-layer sgd": JOBS["last-layer sgd"]}
    for change in ({"frequency": 0.03}, {"adapt": 2 * TASK["adapt"]}):
        assert folder.adapted(one, task=TASK | change) == set(one)
        assert folder.adapted(one) == set(one)
    assert folder.adapted(one, compute=COMPUTE | {"batch_models": 3}) == set(one)
    monkeypatch.setattr(collect.platform, "platform", lambda: "another")
    assert folder.adapted(one, compute=COMPUTE | {"batch_models": 3}) == set(one)


def test_an_absent_damaged_or_exchanged_condition_is_adapted_again(folder):
    (folder.path / "immediate sgd.npz").unlink()
    damaged = folder.path / "immediate adam.parquet"
    held = bytearray(damaged.read_bytes())
    held[len(held) // 2] ^= 1
    damaged.write_bytes(held)
    for form in ("parquet", "npz"):
        shutil.copy(folder.path / f"last-layer sgd.{form}", folder.path / f"last-layer adam.{form}")
    (folder.path / "last-layer sgd.parquet").unlink()
    assert folder.adapted() == set(JOBS)
    assert folder.adapted() == set()


def test_networks_are_pretrained_again_where_they_are_damaged_or_of_something_else(folder, capsys):
    path, before = folder.networks, folder.networks.read_bytes()
    asked = PRETRAINED["settings"] | {"max_epochs": 2}
    folder.pretrained(PRETRAINED | {"settings": asked})
    assert networks.read_provenance(path)["config"]["pretraining"] == asked
    assert read_table(path.with_suffix(".parquet"))["epoch"].max() == 1
    folder.pretrained(task=LONGER)
    assert path.read_bytes() != before
    path.write_bytes(before[:-1])
    folder.pretrained()
    assert path.read_bytes() == before
    text = capsys.readouterr().err  # of the damaged one alone, whose remedy is this run
    assert text.count("pretrained again: ") == 1 and "delete" not in text


def test_uncommitted_code_that_pretrained_is_told_of_what_was_adapted(folder, monkeypatch):
    for dirty in (True, False):
        state = {"commit": "0123abc", "dirty": dirty}
        monkeypatch.setattr(collect, "commit_state", lambda *_, state=state: state)
        if dirty:
            folder.networks.unlink()
            folder.pretrained()
    for name in JOBS:
        (folder.path / f"{name}.parquet").unlink()
    folder.adapted()
    code = read_table(folder.path / "all.parquet").attrs["provenance"]["code"]
    assert code["dirty"] == {"mixed": [False, True]}
    assert "orla/study/pretraining.py" in code["files"]


def test_networks_of_another_job_are_refused_where_they_were_pretrained_otherwise(folder):
    path, episodes = str(folder.networks), adaptation.Episodes(TASK, 2)
    adaptation.check_networks(path, PRETRAINED, episodes)
    for name, value, words in (
        ("settings", PRETRAINED["settings"] | {"max_epochs": 2}, "max_epochs is 1"),
        ("network", NETWORK | {"hidden": 4}, "hidden is 3"),
    ):
        with pytest.raises(OrlaError, match=f"{words}.*delete it and run"):
            adaptation.check_networks(path, PRETRAINED | {name: value}, episodes)
    with pytest.raises(OrlaError, match=r"task.pretraining is 240, not 480.*delete it and run"):
        adaptation.check_networks(path, PRETRAINED, adaptation.Episodes(LONGER, 2))


def test_of_recordings_a_condition_depends_on_its_own_split_and_networks_on_none():
    parts = {"cut": 5, "tail_steps": 9, "splits": {"80-20": 0.8, "50-50": 0.5}}
    task = {"kind": "recordings", "parts": parts}
    assert episode_settings(task, "80-20")["parts"] == parts | {"splits": {"80-20": 0.8}}
    assert episode_settings(task)["parts"] == {"tail_steps": 9}
