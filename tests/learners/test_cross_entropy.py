"""Every learner on categories, against autograd through softmax."""

import functools

import oracles
import pytest
import torch
from harness import (
    LAGGED,
    LEARNED,
    N_OUT,
    NETWORKS,
    all_learn,
    distance,
    in_full,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)

from orla import catalogue
from orla.learners.immediate import Immediate
from orla.learners.last_layer import LastLayer
from orla.learners.rtrl import RTRL
from orla.learners.tbptt import TBPTT

STEPS = 24
LOSS = catalogue.make("loss", "cross_entropy")


def categories(steps=STEPS):
    X, _ = stream(steps)
    return X, torch.randint(N_OUT, (steps,), generator=torch.Generator().manual_seed(7))


def truth(learner, step, used, X, Y):
    start = initial(learner.architecture)
    by_step = [p for p in used for _ in range(learner.stride)]
    error = oracles.cross_entropy
    each = functools.partial(oracles.immediate, error=error)(step, start, by_step, X, Y)
    if isinstance(learner, RTRL):
        return oracles.whole_history(step, start, used, X, Y, error)
    if isinstance(learner, TBPTT):
        states = oracles.states(step, start, by_step, X)
        window, stride = learner.window, learner.update_every
        return oracles.truncated(step, start, used, X, Y, window, stride, states, error)
    sums = [
        {n: sum(g[n] for g in each[at : at + learner.stride]) for n in each[0]}
        for at in range(0, STEPS, learner.stride)
    ]
    if isinstance(learner, LastLayer):
        return [{n: g[n] for n in ("W_out", "b_out")} for g in sums]
    return sums


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED))
def test_every_learner_runs_on_categories(kind, name):
    architecture, step = NETWORKS[kind]
    X, Y = categories()
    learner = make_learner(name, architecture)
    watched = watch(learner, networks(architecture), X, Y, rate=0.05, loss=LOSS)
    errors = torch.as_tensor(watched.result.errors)
    assert torch.isfinite(errors).all() and (errors > 0).all()
    ours, used = watched.model(1)
    by_step = [p for p in used for _ in range(learner.stride)]
    states = oracles.states(step, initial(architecture), by_step, X)[1:]
    error = oracles.error_of(step, oracles.cross_entropy)
    by_hand = [error(*given) for given in zip(by_step, states, Y, strict=True)]
    torch.testing.assert_close(errors[1], torch.stack(by_hand))
    readout = [{n: g[n] for n in ("W_out", "b_out")} for g in ours]
    local = truth(make_learner("last-layer", architecture), step, by_step, X, Y)
    stride = learner.stride
    sums = [
        {n: sum(g[n] for g in local[at : at + stride]) for n in readout[0]}
        for at in range(0, STEPS, stride)
    ]
    assert distance(readout, sums) < 1e-10
    if isinstance(learner, (RTRL, TBPTT, Immediate, LastLayer)):
        expected = truth(learner, step, used, X, Y)
        assert distance(ours, expected) < 1e-10
        lagged = LAGGED.get(kind, ()) if isinstance(learner, Immediate) else ()
        assert all_learn(expected, lagged)
        assert distance(ours, truth(learner, step, used, X, Y.roll(1))) > 1e-2


def test_a_trace_on_categories():
    """Decay 0 is immediate; any other is not."""
    architecture, step = NETWORKS["lstm"]
    X, Y = categories()
    for decay, far in ((0.0, False), (0.5, True)):
        learner = catalogue.make(
            "learner", {"kind": "trace", "decay": decay}, architecture=architecture
        )
        ours, used = watch(learner, networks(architecture), X, Y, rate=0.05, loss=LOSS).model(0)
        expected = truth(Immediate(architecture), step, used, X, Y)
        assert (distance(ours, expected) > 1e-2) == far == (distance(ours, expected) > 1e-10)
