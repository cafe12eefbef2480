"""Seeds that follow from a lock."""

import hashlib

import pytest

from orla import catalogue
from orla.errors import OrlaError
from orla.study.seeds import from_locks, without_locks

PAIR = {"a": "a1", "b": "b1"}


@pytest.fixture
def locked(tmp_path):
    """A registration that is locked, beside one that is not."""
    file = tmp_path / "claim.yaml"
    digest = hashlib.sha256(b"a claim").hexdigest()
    (tmp_path / "LOCK").write_text(f"{digest}  2026-11-25  claim.yaml  chain={digest}\n")
    return file, digest


def seeded(file, name="new-01", **more):
    tasks = {"t": {"kind": "recordings", "pairs": {name: PAIR | {"seed_from": str(file)} | more}}}
    return from_locks(tasks)["t"]["pairs"][name], tasks


def test_a_seed_follows_from_the_lock_and_the_pairs_name(locked):
    file, digest = locked
    first, tasks = seeded(file)
    expected = hashlib.sha256(f"{digest} new-01".encode()).digest()
    assert first["seed"] == int.from_bytes(expected[:4], "big")
    assert first["seed"] != seeded(file, "new-02")[0]["seed"]
    bound = without_locks(from_locks(tasks)["t"])
    assert bound == tasks["t"], "what is bound does not hold the seed"
    assert "seed" not in tasks["t"]["pairs"]["new-01"], "the config is left as it is"


def test_without_a_lock_there_is_no_seed_and_no_simulation(locked):
    file, _ = locked
    pair, _ = seeded(file.with_name("other.yaml"))
    assert "seed" not in pair
    task = catalogue.make("task", {"kind": "recordings", "pairs": {"new-01": pair}})
    with pytest.raises(OrlaError, match=r"follows from the lock of .*run: python -m orla prereg"):
        task.simulation("new-01")


def test_a_seed_of_its_own_beside_is_refused(locked):
    with pytest.raises(OrlaError, match="has seed and seed_from; keep one"):
        seeded(locked[0], seed=3)


def test_a_plain_seed_is_left_alone():
    tasks = {"t": {"pairs": {"x": PAIR | {"seed": 3}}}, "s": {"kind": "sine"}}
    assert from_locks(tasks) == tasks and without_locks(tasks["t"]) == tasks["t"]


def test_a_pairs_own_drift_is_its_simulations():
    pairs = {"x": PAIR | {"drift_scale": 0.5}, "y": PAIR}
    task = catalogue.make("task", {"kind": "recordings", "pairs": pairs})
    assert task.simulation("x").drift.scale == 0.5
    assert task.simulation("y").drift.scale == task.simulated.drift.scale == 1.0
