"""The estimate of a job's memory is near what is counted, and needs no PyTorch."""

import subprocess
import sys

import pytest
import torch

from orla.catalogue.entries import read_entry
from orla.engine import memory, memory_table
from orla.engine.loop import loop_of
from orla.engine.memory_request import BESIDE, COPIES, PROCESS, job_mb
from orla.losses.squared_error import SquaredError

JOB = {
    "keys": {"precision": "float64"},
    "network": {"kind": "rnn", "hidden": 64},
    "learner": {"kind": "immediate"},
    "optimizer": {"kind": "adam"},
    "observers": {},
    "interventions": [],
    "probes": [{"kind": "update_ratio"}],
    "stable_windows": 10,
    "horizons": [],
}
WINDOWED = {"kind": "tbptt", "window": 200, "update_every": 200}


def asked(models=5, steps=1, n=40, **change):
    """MB that are asked for one model after another, beside what an empty job takes."""
    mb = job_mb(JOB | change, n_in=n, n_out=n, models=models, steps=steps)
    return mb / 1.1 - PROCESS - BESIDE


def counted(n=40, models=5, **change):
    """What the model's tensors take, so many copies of those that an update changes."""
    loop = loop_of(JOB | change, n, n, SquaredError())
    one = memory.one_model(loop, torch.float64)
    copied = COPIES * sum(one[name] for name in ("params", "optimizer", "stepped"))
    models = memory.batch_models(loop, models, torch.float64)
    return models * (copied + sum(one[name] for name in ("carry", "buffers", "tapes"))) / 1e6


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"learner": {"kind": "rtrl"}},
        {"learner": {"kind": "rtrl"}, "network": {"kind": "lstm", "hidden": 64}},
        {"learner": {"kind": "rtrl"}, "network": {"kind": "rnn", "hidden": 256}},
        {"learner": {"kind": "trace"}, "network": {"kind": "gru", "hidden": 64}},
        {"learner": WINDOWED, "observers": {"i": {"kind": "immediate", "window": 200}}},
        {"learner": WINDOWED, "network": {"kind": "retnet", "hidden": 64}},
        {"learner": {"kind": "tbptt", "window": 2000, "update_every": 2000}},
        {"network": {"kind": "rnn", "hidden": 512}},
        {"n": 128},
    ],
)
def test_it_is_near_what_is_counted(change):
    assert 0.7 * counted(**change) < asked(**change) < 3.0 * counted(**change) + 20


def test_it_grows_with_models_steps_and_streams_of_their_own():
    sizes = {"n_in": 40, "n_out": 40, "models": 5}
    plain = job_mb(JOB, **sizes)
    assert job_mb(JOB, **sizes | {"models": 10}) > plain
    assert job_mb(JOB, **sizes, steps=200_000) > plain
    assert job_mb(JOB, **sizes, own_streams=5) > plain
    assert job_mb(JOB | {"probes": [{"kind": "condition_number"}]}, **sizes) > plain


def test_what_is_not_in_the_file_is_taken_for_the_plainest():
    unknown = {"network": {"kind": "mine"}, "learner": {"kind": "mine"}}
    unknown |= {"optimizer": {"kind": "mine"}, "probes": [{"kind": "mine"}]}
    assert 0.9 * asked() < asked(**unknown) < 20 + asked()
    # 851 to 986 MB were taken by jobs that compiled; all of them ask for more.
    assert job_mb(JOB | unknown, n_in=40, n_out=40, models=1, steps=1) > 1000


def test_asking_loads_no_pytorch():
    code = "import sys, orla.engine.memory_request; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_file_holds_what_the_parts_take():
    assert memory_table.memory_of_parts() == read_entry("memory")
