"""The memory model as the workflow asks it: without PyTorch where the answer is known."""

import json
import subprocess
import sys

import pytest

from orla import catalogue
from orla.engine import memory
from orla.engine.asked_memory import job_mb
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.losses.squared_error import SquaredError
from orla.programs import sources

JOB = {
    "keys": {"precision": "float32"},
    "seeds": 5,
    "network": {"kind": "rnn", "hidden": 16},
    "learner": "trace",
    "optimizer": {"kind": "adam", "beta1": 0.8},
    "observers": {"exact": {"kind": "rtrl", "block": 8}},
    "interventions": [{"kind": "match-norm", "observer": "exact"}],
    "probes": ["update_ratio", {"kind": "past_gradient", "full": "exact"}],
    "learning_rates": [0.1, 0.3, 1.0],
    "stable_windows": 3,
    "horizons": [200, 400],
}


def asked(n_in=4, n_out=2, most=25, device="cpu", **change):
    """The answer for the job, or one that differs from it."""
    return job_mb({**JOB, **change}, n_in=n_in, n_out=n_out, most=most, device=device)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "memory"


def test_it_is_the_answer_of_the_memory_model():
    network = catalogue.make("architecture", JOB["network"], n_in=4, n_out=2)
    loop = Loop(
        catalogue.make("learner", "trace", architecture=network),
        catalogue.make("optimizer", "adam"),
        SquaredError(),
        observers={
            "exact": catalogue.make("learner", {"kind": "rtrl", "block": 8}, architecture=network)
        },
        interventions=[catalogue.make("intervention", JOB["interventions"][0])],
        probes=[catalogue.make("probe", spec) for spec in JOB["probes"]],
    )
    expected = memory.job_mb(loop, most=25, precision="float32", snapshots=2 * 3 + 2 * 2)
    assert asked() == expected


def test_what_was_asked_before_needs_no_torch(cache):
    code = (
        "import sys, json; from orla.engine.asked_memory import job_mb;"
        f"print(job_mb(json.loads({json.dumps(JOB)!r}), n_in=4, n_out=2, most=25),"
        " 'torch' in sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    (first, cold), (second, warm) = (run.stdout.split() for run in runs)
    assert first == second and (cold, warm) == ("True", "False")
    assert len(list(cache.glob("*.json"))) == 1


def test_each_word_of_the_question_counts(cache):
    asked()
    changes = [
        {"network": {"kind": "rnn", "hidden": 17}},
        {"learner": {"kind": "trace", "decay": 0.5}},
        {"optimizer": "adam"},
        {"n_in": 5},
        {"n_out": 3},
        {"keys": {"precision": "float64"}},
        {"horizons": [200]},
        {"stable_windows": 4},
        {"device": "cuda"},
        {"probes": []},
    ]
    for change in changes:
        asked(**change)
    assert len(list(cache.glob("*.json"))) == 1 + len(changes)


def test_other_sources_ask_again(cache, monkeypatch):
    asked()
    monkeypatch.setattr(sources, "digest", lambda: "another" * 10)
    monkeypatch.setattr(memory, "job_mb", lambda *a, **k: 123)
    assert asked() == 123
    assert len(list(cache.glob("*.json"))) == 2


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"question": "another", "answer": 1}', "null"])
def test_a_damaged_file_is_made_again(damage, cache):
    right = asked()
    (file,) = cache.glob("*.json")
    file.write_text(damage)
    assert asked() == right
    assert json.loads(file.read_text())["answer"] == right


def test_a_disk_that_cannot_be_written_costs_only_the_keeping(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ORLA_CACHE", str(tmp_path / "file"))
    assert asked() > 1000


@pytest.mark.parametrize(
    "wrong, name",
    [
        ({"network": "grn"}, "grn"),
        ({"learner": "bptt"}, "bptt"),
        ({"optimizer": "adamw"}, "adamw"),
        ({"keys": {"precision": "float16"}}, "float16"),
        ({"probes": ["ratio"]}, "ratio"),
    ],
)
def test_what_is_unknown_is_named(wrong, name):
    with pytest.raises(OrlaError, match=name):
        asked(**wrong)
