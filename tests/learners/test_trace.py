"""Eligibility traces against a dense recursion written out by hand, a step at a time."""

import oracles
import pytest
import torch
from harness import (
    LAGGED,
    NETWORKS,
    PLAIN,
    all_learn,
    distance,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from torch.func import jacrev

from orla import catalogue
from orla.errors import OrlaError
from orla.learners.trace import Trace

EXACT = 1e-10
STEPS = 20


def dense_trace(step, state, params_by_step, X, Y, decay):
    """e <- decay e + D with D dense; gradient (dL/dh_t) e_t, the readout's by autograd."""
    trace, answers = None, []
    for params, x, y in zip(params_by_step, X, Y, strict=True):
        D = jacrev(step)(params, state, x)
        if trace is not None:
            D = {name: decay * trace[name] + d for name, d in D.items()}
        trace, state = D, step(params, state, x)
        direct, on_state = jacrev(oracles.error_of(step), argnums=(0, 1))(params, state, y)
        answers.append({n: torch.tensordot(on_state, trace[n], 1) + direct[n] for n in params})
    return answers


@pytest.mark.parametrize(
    ("kind", "decay"),
    [(kind, 0.5) for kind in NETWORKS] + [(kind, d) for kind in PLAIN for d in (0.0, 1.0)],
)
def test_it_is_the_dense_recursion_while_weights_move(kind, decay):
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    watched = watch(Trace(architecture, decay=decay), networks(architecture), X, Y, rate=0.05)
    for model in range(2):
        ours, used = watched.model(model)
        truth = dense_trace(step, initial(architecture), used, X, Y, decay)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth, LAGGED.get(kind, ()))
    assert distance([used[-1]], [used[0]]) > 0.01
    frozen = dense_trace(step, initial(architecture), [used[0]] * STEPS, X, Y, decay)
    assert distance(ours, frozen) > 1e-3
    other = dense_trace(step, initial(architecture), used, X, Y, decay + 0.01)
    assert distance(ours, other) > 1e-4


@pytest.mark.parametrize("kind", NETWORKS)
def test_without_a_past_it_is_immediate(kind):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    local, _ = watch(make_learner("immediate", architecture), params, X, Y, rate=0.05).model(0)
    none, _ = watch(Trace(architecture, decay=0.0), params, X, Y, rate=0.05).model(0)
    some, _ = watch(Trace(architecture, decay=0.1), params, X, Y, rate=0.05).model(0)
    assert distance(none, local) < EXACT
    assert distance(some, local) > 1e-3


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_units_own_words_lose_nothing(kind, monkeypatch):
    """A gate moves its own unit alone: the dense trace has the same numbers."""
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params, learner = networks(architecture), Trace(architecture, decay=0.8)
    own, _ = watch(learner, params, X, Y, rate=0.05).model(0)
    monkeypatch.setattr("orla.learners.sensitivity.own_units", lambda architecture: False)
    assert set(learner.memory(params).changed["influence"]) == set(architecture.recurrent_shapes())
    dense, _ = watch(learner, params, X, Y, rate=0.05).model(0)
    assert distance(own, dense) < EXACT


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_a_decay_out_of_range_is_refused(decay):
    with pytest.raises(OrlaError, match='"decay" must be'):
        catalogue.make(
            "learner", {"kind": "trace", "decay": decay}, architecture=NETWORKS["rnn"][0]
        )
