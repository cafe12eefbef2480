"""Truncated backpropagation through time against autograd over the last steps."""

import oracles
import pytest
from harness import NETWORKS, PLAIN, adapted, all_learn, distance, initial, networks, stream, watch

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


@pytest.mark.parametrize("window, stride", [(1, 1), (4, 1), (6, 4), (8, 8), (40, 1), (40, 3)])
def test_it_is_autograd_over_the_last_window_steps(network, window, stride):
    architecture, step = network
    X, Y = stream(STEPS)
    learner = TBPTT(architecture, window=window, update_every=stride)
    watched = watch(learner, networks(architecture), X, Y, rate=0.05)
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
    ours, params = adapted(TBPTT(architecture, window=6, update_every=4), STEPS)
    states = visited(step, architecture, params, 4, X)
    for window in (5, 7):
        truth = oracles.truncated(step, initial(architecture), params, X, Y, window, 4, states)
        assert distance(ours, truth) > 1e-4


def test_a_window_of_one_is_immediate(network):
    learners = Immediate(network[0]), TBPTT(network[0], 1, 1), TBPTT(network[0], 2, 1)
    local, one, two = (adapted(learner, STEPS, rate=0.05)[0] for learner in learners)
    assert distance(one, local) < EXACT
    assert distance(two, local) > 1e-3


def test_over_everything_it_is_exact_at_every_step_and_the_sum_over_them(network):
    windows = (STEPS, STEPS), (STEPS // 2, STEPS // 2), (STEPS, 1)
    learners = RTRL(network[0], block=5), *(TBPTT(network[0], *window) for window in windows)
    exact, chunk, halves, each = (adapted(learner, STEPS)[0] for learner in learners)
    total = {name: sum(step[name] for step in exact) for name in exact[0]}
    assert distance(chunk, [total]) < EXACT
    assert distance([{n: halves[0][n] + halves[1][n] for n in total}], [total]) > 1e-4
    assert distance(each, exact) < EXACT


@pytest.mark.parametrize("window, stride", [(3, 4), (0, 1), (4, 0)])
def test_a_window_shorter_than_the_stride_is_refused(window, stride):
    architecture, _ = NETWORKS["rnn"]
    with pytest.raises(OrlaError, match="at least as long"):
        TBPTT(architecture, window, stride)
