"""Weights that are held stay where they are, bit for bit, and others move."""

import pytest
import torch
from harness import NETWORKS, make_learner, networks, stream

from orla import catalogue
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.interventions.hold import Hold
from orla.losses.squared_error import SquaredError
from orla.starts.without_recurrence import WithoutRecurrence


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "signsgd-momentum"])
def test_a_network_without_recurrence_stays_so(optimizer):
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(12)
    given = networks(architecture)
    plain = {name: p[0] for name, p in given.items()}
    started = WithoutRecurrence().apply(architecture, plain, torch.Generator())
    assert not started["W_hh"].any() and all(
        torch.equal(p, plain[name]) for name, p in started.items() if name != "W_hh"
    )
    params = {name: torch.stack([p, p]) for name, p in started.items()}
    learner = make_learner("immediate", architecture)
    made = catalogue.make("optimizer", optimizer)
    rates = torch.full((2,), 0.01, dtype=torch.float64)
    after = {}
    for held in ([Hold()], []):
        loop = Loop(learner, made, SquaredError(), interventions=held)
        state = loop.start(params)
        loop.run(state, rates, {"x": X, "y": Y})
        after[bool(held)] = state.params
    assert not after[True]["W_hh"].any() and after[False]["W_hh"].any()
    for name in params.keys() - {"W_hh"}:
        assert not torch.equal(after[True][name], params[name])


def test_what_is_not_there_is_refused():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(2)
    loop = Loop(
        make_learner("last-layer", architecture),
        catalogue.make("optimizer", "sgd"),
        SquaredError(),
        interventions=[Hold()],
    )
    state = loop.start(networks(architecture))
    with pytest.raises(OrlaError, match="no W_hh is learned"):
        loop.run(state, torch.zeros(2, dtype=torch.float64), {"x": X, "y": Y})
