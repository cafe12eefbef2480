"""Truncated backpropagation through time against autograd over the last steps."""

import oracles
import pytest
from harness import NETWORKS, PLAIN, all_learn, distance, initial, networks, stream, watch

from orla.errors import OrlaError
from orla.learners.immediate import Immediate
from orla.learners.rtrl import RTRL
from orla.learners.tbptt import TBPTT

EXACT = 1e-10
STEPS = 24


@pytest.fixture(params=PLAIN)
def network(request):
    return NETWORKS[request.param]


def visited(step, architecture, params, stride, X):
    """States before each step, with weights that change once an update."""
    by_step = [p for p in params for _ in range(stride)]
    return oracles.states(step, initial(architecture), by_step, X)


@pytest.mark.parametrize("rate", [0.0, 0.05])
@pytest.mark.parametrize("window, stride", [(1, 1), (4, 1), (6, 4), (8, 8), (40, 1), (40, 3)])
def test_it_is_autograd_over_the_last_window_steps(network, window, stride, rate):
    architecture, step = network
    X, Y = stream(STEPS)
    learner = TBPTT(architecture, window=window, update_every=stride)
    watched = watch(learner, networks(architecture), X, Y, rate=rate)
    for model in range(2):
        ours, params = watched.model(model)
        states = visited(step, architecture, params, stride, X)
        start = initial(architecture)
        truth = oracles.truncated(step, start, params, X, Y, window, stride, states)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth)


def test_another_window_would_be_noticed(network):
    architecture, step = network
    X, Y = stream(STEPS)
    learner = TBPTT(architecture, window=6, update_every=4)
    ours, params = watch(learner, networks(architecture), X, Y).model(0)
    states = visited(step, architecture, params, 4, X)
    for window in (5, 7):
        truth = oracles.truncated(step, initial(architecture), params, X, Y, window, 4, states)
        assert distance(ours, truth) > 1e-4


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_window_of_one_is_immediate(network, rate):
    architecture, _ = network
    X, Y = stream(STEPS)
    params = networks(architecture)
    local, _ = watch(Immediate(architecture), params, X, Y, rate=rate).model(0)
    one, _ = watch(TBPTT(architecture, 1, 1), params, X, Y, rate=rate).model(0)
    two, _ = watch(TBPTT(architecture, 2, 1), params, X, Y, rate=rate).model(0)
    assert distance(one, local) < EXACT
    assert distance(two, local) > 1e-3


def test_over_everything_it_is_the_sum_of_the_exact_gradients(network):
    architecture, _ = network
    X, Y = stream(STEPS)
    params = networks(architecture)
    exact, _ = watch(RTRL(architecture, block=5), params, X, Y).model(0)
    chunk, _ = watch(TBPTT(architecture, STEPS, STEPS), params, X, Y).model(0)
    total = {name: sum(step[name] for step in exact) for name in exact[0]}
    assert distance(chunk, [total]) < EXACT
    halves, _ = watch(TBPTT(architecture, STEPS // 2, STEPS // 2), params, X, Y).model(0)
    total_of_halves = {name: halves[0][name] + halves[1][name] for name in halves[0]}
    assert distance([total_of_halves], [total]) > 1e-4


def test_a_window_over_everything_at_every_step_is_exact(network):
    architecture, _ = network
    X, Y = stream(STEPS)
    params = networks(architecture)
    exact, _ = watch(RTRL(architecture, block=5), params, X, Y).model(0)
    everything, _ = watch(TBPTT(architecture, STEPS, 1), params, X, Y).model(0)
    assert distance(everything, exact) < EXACT


@pytest.mark.parametrize("window, stride", [(3, 4), (0, 1), (4, 0)])
def test_a_window_shorter_than_the_stride_is_refused(window, stride):
    architecture, _ = NETWORKS["rnn"]
    with pytest.raises(OrlaError, match="at least as long"):
        TBPTT(architecture, window, stride)
