"""Eligibility traces against a dense recursion written out by hand, a step at a time."""

import oracles
import pytest
import torch
from harness import (
    LAGGED,
    NETWORKS,
    PLAIN,
    adapted,
    distance,
    held_to,
    in_full,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)

from orla import catalogue
from orla.errors import OrlaError
from orla.learners.trace import Trace

EXACT = 1e-10
STEPS = 20


@pytest.mark.parametrize(
    ("kind", "decay"),
    [(kind, 0.5) for kind in NETWORKS] + [(kind, d) for kind in PLAIN for d in (0.0, 1.0)],
)
def test_it_is_the_dense_recursion_while_weights_move(kind, decay):
    """e <- decay e + D with D dense."""
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)

    def dense(used, decay=decay):
        start, eye = initial(architecture), torch.eye(architecture.state_size).double()
        return oracles.dense_rtrl(step, start, used, X, Y, jacobian=lambda J: decay * eye)

    watched = watch(Trace(architecture, decay=decay), networks(architecture), X, Y, rate=0.05)
    ours, used = held_to(dense, watched, LAGGED.get(kind, ()))
    assert distance(ours, dense([used[0]] * STEPS)) > 1e-3
    assert distance(ours, dense(used, decay + 0.01)) > 1e-4


@pytest.mark.parametrize("kind", PLAIN)
def test_without_a_past_it_is_immediate(kind):
    architecture, _ = NETWORKS[kind]
    local, none, some = (
        adapted(learner, STEPS, rate=0.05)[0]
        for learner in (
            make_learner("immediate", architecture),
            Trace(architecture, decay=0.0),
            Trace(architecture, decay=0.1),
        )
    )
    assert distance(none, local) < EXACT
    assert distance(some, local) > 1e-3


@pytest.mark.parametrize("kind", in_full([(k,) for k in NETWORKS], [(k,) for k in PLAIN]))
def test_a_units_own_words_lose_nothing(kind, monkeypatch):
    """A gate moves its own unit alone: the dense trace has the same numbers."""
    architecture, _ = NETWORKS[kind]
    params, learner = networks(architecture), Trace(architecture, decay=0.8)
    own, _ = adapted(learner, STEPS, params, rate=0.05)
    monkeypatch.setattr("orla.learners.sensitivity.own_units", lambda architecture: False)
    assert set(learner.init(params)["influence"]) == set(architecture.recurrent_shapes())
    dense, _ = adapted(learner, STEPS, params, rate=0.05)
    assert distance(own, dense) < EXACT


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_a_decay_out_of_range_is_refused(decay):
    with pytest.raises(OrlaError, match='"decay" must be'):
        catalogue.make(
            "learner", {"kind": "trace", "decay": decay}, architecture=NETWORKS["rnn"][0]
        )
