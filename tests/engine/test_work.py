"""Work that the engine counts for the account of a run: steps of single models, programs."""

import pytest
import torch
from harness import NETWORKS, SQUARED_ERROR, make_learner, networks, stream

from orla.engine import forward
from orla.engine.loop import Loop
from orla.optimizers.sgd import SGD
from orla.programs import compiling
from orla.provenance import cost

RATES = torch.full((3,), 0.01, dtype=torch.float64)
ARCHITECTURE = NETWORKS["rnn"][0]


@pytest.fixture
def ledger(monkeypatch):
    monkeypatch.setattr(cost, "_ledger", cost.Ledger())
    return cost._ledger


def adapt(name, steps, segment=24):
    made = Loop(make_learner(name, ARCHITECTURE), SGD(), SQUARED_ERROR, segment=segment)
    X, Y = stream(steps)
    made.run(made.start(networks(ARCHITECTURE, models=3)), RATES, {"x": X, "y": Y})


@pytest.mark.parametrize(("name", "done"), [("immediate", 50), ("tbptt-8-8", 48)])
def test_steps_that_are_adapted_to_are_counted_a_model(ledger, name, done):
    adapt(name, 50)
    assert ledger.steps == {"learners": 3 * done}
    assert ledger.cpu_s["learners"] > 0
    assert len(ledger.open) == 1, "every phase has ended"


def test_steps_of_frozen_networks_are_counted_without_segment_padding(ledger):
    forward.outputs_of(ARCHITECTURE, networks(ARCHITECTURE, models=2), None, {"x": stream(211)[0]})
    assert ledger.steps == {"scoring": 2 * 211}


def test_steps_of_pretraining_are_its_own(ledger):
    with cost.phase("pretraining"):
        adapt("immediate", 24)
        forward.outputs_of(ARCHITECTURE, networks(ARCHITECTURE), None, {"x": stream(10)[0]})
    assert set(ledger.steps) == {"pretraining"}


def test_a_program_is_counted_where_it_is_compiled_and_its_time_is_not_the_learners(
    ledger, monkeypatch
):
    def make(function, arguments, path):
        return function, False

    monkeypatch.setattr(compiling.programs, "compile_and_keep", make)
    monkeypatch.setitem(compiling._settings, "enabled", True)
    ours = compiling.Compiled(lambda x: x + 1, "an addition")
    with cost.work_phase("learners", 0):
        for length in (2, 2, 3):
            ours(torch.zeros(length))
    assert ledger.programs == 2
    assert ledger.cpu_s["compiling"] > 0
