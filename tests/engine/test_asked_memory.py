"""The memory model as the workflow asks it: without PyTorch where the answer is known."""

import json
import subprocess
import sys

import pytest

from orla import catalogue
from orla.engine import asked_memory, memory
from orla.errors import OrlaError
from orla.programs import sources

CONDITION = {
    "architecture": {"kind": "rnn", "hidden": 16},
    "learner": "trace",
    "optimizer": {"kind": "adam", "beta1": 0.8},
    "n_in": 4,
    "n_out": 2,
    "most": 25,
    "precision": "float32",
    "snapshots": 30,
    "observers": {"exact": {"kind": "rtrl", "block": 8}},
    "interventions": [{"kind": "match-norm", "observer": "exact"}],
    "probes": ["update_ratio", {"kind": "past_gradient", "full": "exact"}],
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "memory"


def answers(cache):
    (file,) = cache.glob("*.json")
    return json.loads(file.read_text())


def test_it_is_the_answer_of_the_memory_model():
    network = catalogue.make("architecture", CONDITION["architecture"], n_in=4, n_out=2)
    made = {
        "observers": {
            "exact": catalogue.make("learner", {"kind": "rtrl", "block": 8}, architecture=network)
        },
        "interventions": [catalogue.make("intervention", CONDITION["interventions"][0])],
        "probes": [catalogue.make("probe", spec) for spec in CONDITION["probes"]],
    }
    expected = memory.job_mb(
        network,
        catalogue.make("learner", "trace", architecture=network),
        catalogue.make("optimizer", "adam"),
        most=25,
        precision="float32",
        snapshots=30,
        **made,
    )
    assert asked_memory.job_mb(**CONDITION) == expected


def test_what_was_asked_before_needs_no_torch(cache):
    code = (
        "import sys, json; from orla.engine import asked_memory;"
        f"print(asked_memory.job_mb(**json.loads({json.dumps(CONDITION)!r})),"
        " 'torch' in sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    (first, cold), (second, warm) = (run.stdout.split() for run in runs)
    assert first == second and (cold, warm) == ("True", "False")
    assert list(answers(cache).values()) == [int(first)]


def test_each_word_of_the_question_counts(cache):
    asked_memory.job_mb(**CONDITION)
    changes = [
        {"architecture": {"kind": "rnn", "hidden": 17}},
        {"learner": {"kind": "trace", "decay": 0.5}},
        {"optimizer": "adam"},
        {"n_in": 5},
        {"precision": "float64"},
        {"snapshots": 31},
        {"device": "cuda"},
        {"probes": []},
    ]
    for change in changes:
        asked_memory.job_mb(**CONDITION | change)
    assert len(answers(cache)) == 1 + len(changes)


def test_other_sources_ask_again(cache, monkeypatch):
    asked_memory.job_mb(**CONDITION)
    monkeypatch.setattr(sources, "digest", lambda: "another" * 10)
    monkeypatch.setattr(memory, "job_mb", lambda *a, **k: 123)
    assert asked_memory.job_mb(**CONDITION) == 123
    assert len(list(cache.glob("*.json"))) == 2


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"a": "b"}', "null"])
def test_a_damaged_file_is_made_again(damage, cache):
    right = asked_memory.job_mb(**CONDITION)
    (file,) = cache.glob("*.json")
    file.write_text(damage)
    assert asked_memory.job_mb(**CONDITION) == right
    assert list(answers(cache).values()) == [right]


def test_a_disk_that_cannot_be_written_costs_only_the_keeping(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "file"))
    assert asked_memory.job_mb(**CONDITION) > 1000


@pytest.mark.parametrize(
    "wrong",
    [
        {"architecture": "grn"},
        {"learner": "bptt"},
        {"optimizer": "adamw"},
        {"precision": "float16"},
        {"probes": ["ratio"]},
    ],
)
def test_what_is_unknown_is_named(wrong):
    (value,) = wrong.values()
    with pytest.raises(OrlaError, match=value if isinstance(value, str) else value[0]):
        asked_memory.job_mb(**CONDITION | wrong)
