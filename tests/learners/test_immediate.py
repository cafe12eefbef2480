"""Immediate derivatives and the readout alone against autograd with a detached past."""

import oracles
import pytest
import torch
from harness import (
    LAGGED,
    LEARNED,
    NETWORKS,
    REMEMBERING,
    all_learn,
    distance,
    in_full,
    initial,
    make_learner,
    make_optimizer,
    networks,
    stream,
    watch,
)

from orla import catalogue
from orla.learners.immediate import Immediate
from orla.learners.last_layer import LastLayer

EXACT = 1e-10
STEPS = 24


@pytest.fixture(params=REMEMBERING)
def kind(request):
    return request.param


@pytest.fixture
def network(kind):
    return NETWORKS[kind]


def test_it_is_autograd_with_the_past_detached(kind, network):
    architecture, step = network
    X, Y = stream(STEPS)
    watched = watch(Immediate(architecture), networks(architecture), X, Y, rate=0.05)
    for model in range(2):
        ours, params = watched.model(model)
        truth = oracles.immediate(step, initial(architecture), params, X, Y)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth, LAGGED.get(kind, ()))
    whole = oracles.whole_history(step, initial(architecture), params, X, Y)
    assert distance(ours, whole) > 1e-2


def test_a_windows_gradient_is_the_sum_of_its_steps(network):
    architecture, step = network
    X, Y = stream(STEPS)
    watched = watch(Immediate(architecture, window=6), networks(architecture), X, Y, rate=0.05)
    ours, params = watched.model(1)
    by_step = [p for p in params for _ in range(6)]
    each = oracles.immediate(step, initial(architecture), by_step, X, Y)
    sums = [
        {name: sum(g[name] for g in each[start : start + 6]) for name in each[0]}
        for start in range(0, STEPS, 6)
    ]
    assert distance(ours, sums) < EXACT
    means = [{name: g / 6 for name, g in total.items()} for total in sums]
    assert distance(ours, means) > 1e-2


# Every network with SGD, and one network with every optimizer.
OPTIMIZED = [(kind, "sgd") for kind in NETWORKS]
OPTIMIZED += [("lstm", name) for name in catalogue.parts("optimizer") if name != "sgd"]


@pytest.mark.parametrize(("kind", "name"), OPTIMIZED)
def test_the_last_layer_leaves_recurrent_parameters_alone_bit_for_bit(kind, name):
    architecture, step = NETWORKS[kind]
    readout = set(architecture.readout_shapes())
    X, Y = stream(STEPS)
    before = networks(architecture)
    kept = {name: p.clone() for name, p in before.items()}
    rule = make_optimizer(name)
    watched = watch(LastLayer(architecture), before, X, Y, rate=0.05, optimizer=rule)
    ours, params = watched.model(0)
    assert set(ours[0]) == readout
    truth = oracles.immediate(step, initial(architecture), params, X, Y)
    assert distance(ours, [{n: g[n] for n in readout} for g in truth]) < EXACT
    for parameter, after in watched.result.state.params.items():
        assert torch.equal(after, kept[parameter]) != (parameter in readout)


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED))
def test_losses_are_those_before_each_update(kind, name):
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    chosen = make_learner(name, architecture)
    watched = watch(chosen, networks(architecture), X, Y, rate=0.05)
    _, params = watched.model(1)
    by_step = [p for p in params for _ in range(chosen.stride)]
    states = oracles.states(step, initial(architecture), by_step, X)
    truth = [
        oracles.error_of(step)(p, s, y) for p, s, y in zip(by_step, states[1:], Y, strict=True)
    ]
    torch.testing.assert_close(
        torch.as_tensor(watched.result.errors[1]), torch.stack(truth), rtol=1e-12, atol=1e-14
    )
