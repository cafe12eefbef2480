"""docs/reference.md is what the code declares, and names every column that a sweep writes."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from orla import catalogue
from orla.architectures.rnn import RNN
from orla.engine.loop import Loop
from orla.prereg.judge import VERDICT_COLUMNS
from orla.programs import compiling
from orla.results.against_rtrl import BEST
from orla.study import sweep, tidy
from orla.study.keys import KEYS
from orla.study.pretraining import Pretraining, pretrain
from orla.study.study import Study

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "workflow/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pretrained():
    compiling.configure(compile=False)
    sine = {"kind": "sine", "pretraining": 400, "adapt": 40, "heldout": 20, "window": 20}
    episode = catalogue.make("task", sine).episode("shift", range(2))
    network = RNN(hidden=2, n_in=1, n_out=1)
    settings = Pretraining(max_epochs=1)
    loss = catalogue.make("loss", episode.loss)
    return episode, network, pretrain(network, episode.pretraining, range(2), settings, loss)


@pytest.fixture(scope="module")
def swept(pretrained):
    episode, network, (trained, _) = pretrained
    study = Study(
        keys=dict.fromkeys(KEYS, "x"),
        networks=trained,
        episode=episode,
        loop=Loop(
            catalogue.make("learner", "immediate", architecture=network),
            catalogue.make("optimizer", "sgd"),
            catalogue.make("loss", episode.loss),
            probes=[catalogue.make("probe", "update_ratio")],
            segment=episode.window,
        ),
    )
    return sweep.sweep(study, [0.01, 0.03], growth=0, horizons=[40])


def test_the_page_is_what_the_code_declares(reference):
    written = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert written == reference.reference(), "docs/reference.md is out of date; run: make reference"


def test_every_column_of_a_sweep_is_described(reference, swept):
    assert list(swept.table) == list(KEYS | reference.WRITTEN["TASK[/PAIR]/sweeps/CONDITION"])
    told = KEYS | reference.WRITTEN["heldout, lr_curves"]
    told |= reference.of_losses() | reference.of_probes()
    # Written where the sweeps are put together; other losses and probes.
    elsewhere = {"recovery_vs_rtrl_percent", *BEST.values(), "bits_per_symbol", "accuracy"}
    elsewhere |= {"stable_bits_per_symbol", "stable_accuracy"}
    elsewhere |= {name for name in reference.of_probes() if name != "update_ratio"}
    assert set(swept.frames["models"]) == set(told) - elsewhere


def test_every_column_of_horizons_and_traces_is_described(reference, swept):
    told = KEYS | reference.WRITTEN["horizon"]
    assert list(swept.frames["horizon"]) == list(told)
    along = tidy.traces(swept.frames["models"], [swept.traces])
    assert list(along) == list(KEYS | reference.WRITTEN["traces"])
    assert np.array_equal(along["step"].unique(), [20, 40])


def test_every_column_of_alignments_is_described(reference, pretrained):
    told = KEYS | reference.WRITTEN["alignment"]
    episode, network, (trained, _) = pretrained
    watched = Study(
        keys=dict.fromkeys(KEYS, "x"),
        networks=trained,
        episode=episode,
        loop=Loop(
            catalogue.make("learner", "immediate", architecture=network),
            catalogue.make("optimizer", "sgd"),
            catalogue.make("loss", episode.loss),
            probes=[catalogue.make("probe", "cosine")],
            segment=episode.window,
        ),
    )
    aligned = sweep.sweep(watched, [0.01], growth=0).frames["alignment"]
    assert list(aligned) == [*told, *reference.of_observers()]


def test_every_column_and_quantity_of_profiles_is_described(reference, swept):
    told = KEYS | reference.WRITTEN["profile"]
    assert list(swept.frames["profile"]) == list(told)
    parts = catalogue.parts("probe").values()
    assert set(reference.of_profiles()) == {n for p in parts for n in p.part.more["profiles"]}
    assert "singular_past" in reference.reference()


def test_every_column_of_pretraining_and_verdicts_is_described(reference, pretrained):
    _, _, (_, curve) = pretrained
    assert list(curve) == list(reference.WRITTEN["pretraining/NETWORK/PRECISION"])
    assert list(reference.WRITTEN["verdicts"]) == VERDICT_COLUMNS
