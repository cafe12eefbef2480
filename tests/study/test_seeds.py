"""Seeds that follow from a lock, and where the workflow may run."""

import hashlib
import sys

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.prereg import lock
from orla.study.seeds import add_lock_seeds, remove_lock_seeds
from orla.study.workflow import require_study_workdir

PAIR = {"a": "a1", "b": "b1"}


def seeded(file, name="new-01", **more):
    tasks = {"t": {"kind": "recordings", "pairs": {name: PAIR | {"seed_from": str(file)} | more}}}
    return add_lock_seeds(tasks, [str(file.parent)])["t"]["pairs"][name], tasks


def test_a_seed_follows_from_the_lock_and_the_pairs_name(tmp_path):
    file = tmp_path / "claim.yaml"
    file.write_text("a claim")
    lock.lock_files(tmp_path, [file])
    digest = hashlib.sha256(b"a claim").hexdigest()
    first, tasks = seeded(file)
    expected = hashlib.sha256(f"{digest} new-01".encode()).digest()
    assert first["seed"] == int.from_bytes(expected[:4], "big")
    assert first["seed"] != seeded(file, "new-02")[0]["seed"]
    bound = remove_lock_seeds(add_lock_seeds(tasks, [str(tmp_path)])["t"])
    assert bound == tasks["t"], "what is bound does not hold the seed"
    assert "seed" not in tasks["t"]["pairs"]["new-01"], "the config is left as it is"
    with pytest.raises(OrlaError, match="has seed and seed_from; keep one"):
        seeded(file, seed=3)
    pair, _ = seeded(file.with_name("unlocked.yaml"))
    assert "seed" not in pair
    task = catalogue.make("task", {"kind": "recordings", "pairs": {"new-01": pair}})
    with pytest.raises(OrlaError, match=r"follows from the lock of .*run: python -m orla prereg"):
        task.simulation_settings("new-01")


def test_a_lock_that_nothing_verifies_gives_no_seed(tmp_path):
    file = tmp_path / "claim.yaml"
    file.write_text("a claim")
    lock.lock_files(tmp_path, [file])
    _, tasks = seeded(file)
    with pytest.raises(
        OrlaError, match=r'"tasks.t.pairs.new-01.seed_from" is .* in none of regist'
    ):
        add_lock_seeds(tasks, ["prereg"])
    text = (tmp_path / "LOCK").read_text()
    (tmp_path / "LOCK").write_text("0" * 64 + text[64:])
    with pytest.raises(OrlaError, match="the chain is broken at line 1"):
        seeded(file)


def test_a_plain_seed_is_left_alone():
    tasks = {"t": {"pairs": {"x": PAIR | {"seed": 3}}}, "s": {"kind": "sine"}}
    assert add_lock_seeds(tasks, []) == tasks and remove_lock_seeds(tasks["t"]) == tasks["t"]


def test_drift_scale_of_a_pair_overrides_that_of_the_simulated_task():
    pairs = {"x": PAIR | {"drift_scale": 0.5}, "y": PAIR}
    task = catalogue.make("task", {"kind": "recordings", "pairs": pairs})
    assert task.simulation_settings("x").drift.scale == 0.5
    assert task.simulation_settings("y").drift.scale == task.simulated.drift.scale == 1.0


def test_a_working_folder_without_a_config_and_a_python_in_a_folder_with_a_space_are_refused(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OrlaError, match=f"working folder is {tmp_path}, .*: cd '.*/elsewhere'"):
        require_study_workdir(tmp_path / "elsewhere")
    (tmp_path / "config.yaml").touch()
    require_study_workdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "executable", "/My Drive/.venv/bin/python")
    with pytest.raises(OrlaError, match=r"/My Drive/.*: Snakemake cannot start a Python whose"):
        require_study_workdir(tmp_path)
