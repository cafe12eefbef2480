"""One provenance for several results, and the refusal to mix."""

import itertools

import pytest

from orla.errors import OrlaError
from orla.provenance.tables import merge_provenances


def source(learner="rtrl", **changed):
    return {
        "code": {
            "commit": "c1",
            "dirty": False,
            "files": {"orla/engine/loop.py": "1", f"orla/learners/{learner}.py": learner},
        },
        "versions": {"python": "3.11", "torch": "2.13"},
        "cpu_capability": "AVX512",
        "keys": {"task": "recordings", "pair": "", "split": "50-50", "learner": learner},
        "dataset": {"label": "SIMULATED", "channels": ["a", "b"]},
        "inputs": {"../stream.npz": "s1"},
        "seeds": [0, 1],
    } | changed


def with_file(name, digest, **more):
    given = source(**more)
    given["code"]["files"][name] = digest
    return given


LOOP = with_file("orla/engine/loop.py", "2", learner="immediate")


def test_merging_equal_provenances_leaves_them_as_they_are():
    given = source()
    kept = {k: v for k, v in given.items() if k not in ("inputs", "dataset")}
    expected = kept | {"datasets": {"recordings/50-50": given["dataset"]}}
    assert merge_provenances({"r/x": given}) == expected
    assert merge_provenances({"r/x": given, "r/y": source()}) == expected


def test_everything_that_went_in_is_carried():
    given = {
        "r/x": source(),
        "r/y": source("immediate", cpu_capability="AVX2", seeds=[0, 1, 2]),
        "r/z": source("immediate", cpu_capability="AVX2"),
    }
    given["r/y"]["code"]["commit"] = "c2"
    given["r/z"]["dataset"] = {"label": "SINE"}
    given["r/z"]["keys"] = given["r/z"]["keys"] | {"task": "sine", "split": "8"}
    found = merge_provenances(given)
    assert found["code"]["commit"] == {"mixed": ["c1", "c2"]}
    assert found["code"]["files"] == {
        "orla/engine/loop.py": "1",
        "orla/learners/rtrl.py": "rtrl",
        "orla/learners/immediate.py": "immediate",
    }
    assert found["cpu_capability"] == {"mixed": ["AVX2", "AVX512"]}
    assert found["seeds"] == {"mixed": [[0, 1, 2], [0, 1]]}
    assert found["keys"]["learner"] == {"mixed": ["immediate", "rtrl"]}
    assert found["versions"] == {"python": "3.11", "torch": "2.13"}
    assert found["datasets"] == {
        "recordings/50-50": source()["dataset"],
        "sine/8": {"label": "SINE"},
    }
    assert "inputs" not in found and "dataset" not in found


def test_order_does_not_matter_and_merging_again_changes_nothing():
    given = {"r/x": source(), "r/y": source("immediate", seeds=[3]), "r/z": source("trace")}
    found = merge_provenances(given)
    for order in itertools.permutations(given):
        assert merge_provenances({path: given[path] for path in order}) == found
    pair = merge_provenances({path: given[path] for path in ("r/x", "r/y")})
    assert merge_provenances({"r/xy": pair, "r/z": given["r/z"]}) == found


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (LOOP, r"different code .*: r/x differs from r/y in orla/engine/loop\.py;"),
        (source(dataset={"label": "other"}), r"different data .* in recordings/50-50;"),
        (source(inputs={"../stream.npz": "s2"}), r"different data .* in stream\.npz;"),
        # The same path, seen from another folder.
        (source(inputs={".././stream.npz": "s2"}), r"r/x differs from r/y in stream\.npz;"),
        (source(prereg_lock_sha256="b"), r"different locks .* in prereg/LOCK;"),
    ],
)
def test_merging_other_code_data_or_locks_is_refused_by_name_unless_allowed(other, words):
    given = {"r/x": source(prereg_lock_sha256="a"), "r/y": other}
    with pytest.raises(OrlaError, match=words) as error:
        merge_provenances(given)
    assert "delete" in str(error.value) and "provenance.allow_mixed: true" in str(error.value)
    found = merge_provenances(given, allow_mixed=True)
    assert "mixed" in repr(found) or other["inputs"] != source()["inputs"]
    again = {"r/xy": found, "r/z": source("trace")}
    if "mixed" in repr(found):
        with pytest.raises(OrlaError, match="cannot stand in one table"):
            merge_provenances(again)
    assert merge_provenances(again, allow_mixed=True)["keys"]["task"] == "recordings"


def test_merging_refuses_results_made_by_two_versions_of_one_file():
    """An optimizer that changed since reruns its own results only: the others may stay."""
    sgd = with_file("orla/optimizers/sgd.py", "old")
    adam = with_file("orla/optimizers/adam.py", "new", learner="immediate")
    adam["code"]["commit"] = "c2"
    merge_provenances({"r/sgd": sgd, "r/adam": adam})
    stale = with_file("orla/optimizers/adam.py", "old", learner="trace")
    with pytest.raises(OrlaError, match=r"in orla/optimizers/adam\.py"):
        merge_provenances({"r/sgd": sgd, "r/adam": adam, "r/stale": stale})


def test_the_few_are_named_before_the_many():
    given = {f"r/{i}": source() for i in range(9)} | {"r/odd": source(dataset={"label": "o"})}
    with pytest.raises(OrlaError, match="r/odd differs from r/0, r/1, r/2 and 6 more in"):
        merge_provenances(given)
