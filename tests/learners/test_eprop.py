"""e-prop against Bellec's equations in NumPy, and against autograd with the recurrence cut."""

import numpy as np
import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    adapted,
    all_learn,
    distance,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from learners.leaky import Leaky, lstm_eprop, rflo

from orla.engine.state import fixed_noise
from orla.errors import OrlaError
from orla.learners.eprop import EProp

EXACT = 1e-10
STEPS = 24
SEEDS = (3, 11)
LSTM, RNN = NETWORKS["lstm"][0], NETWORKS["rnn"][0]
LEAKY = Leaky(5, 3, 2)
LIKE = torch.zeros((), dtype=torch.float64)


def watched(network, **options):
    learner = EProp(network, **options)
    return watch(learner, networks(network), *stream(STEPS), rate=0.05, seeds=SEEDS)


def drawn(scale=1.0):
    return fixed_noise(SEEDS, 10, LIKE).view(2, 5, 2).numpy() * scale / np.sqrt(2)


@pytest.mark.parametrize("feedback", ["exact", "random"])
def test_an_lstms_is_the_papers_equation_while_weights_move(feedback):
    X, Y = stream(STEPS)
    run = watched(LSTM, feedback=feedback, feedback_scale=0.7)
    B = drawn(0.7) if feedback == "random" else [None, None]
    for model in range(2):
        ours, used = run.model(model)
        truth = lstm_eprop(used, X, Y, B=B[model])
        assert distance(ours, truth) < EXACT
        assert all_learn(truth)
    assert distance([used[-1]], [used[0]]) > 0.01
    assert distance(ours, lstm_eprop([used[0]] * STEPS, X, Y, B=B[1])) > 1e-3
    assert distance(ours, lstm_eprop(used, X, Y, B=B[1], kept=0.99)) > 1e-4
    wrong = drawn(0.7)[0] if feedback == "random" else drawn(0.7)[1]
    assert distance(ours, lstm_eprop(used, X, Y, B=wrong)) > 1e-2


def with_h_held(step):
    """As `step` in every value; its derivatives are those with h held fixed in W_hh h."""

    def stepped(params, state, x):
        h = state[: params["W_hh"].shape[1]]
        # W_hh (h.detach() - h) is zero, and takes the derivative by h out of W_hh h.
        held = params["W_hh"].detach() @ (h.detach() - h)
        return step(params | {"b_h": params["b_h"] + held}, state, x)

    return stepped


def leaky_step(params, h, x):
    u = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
    return 0.7 * h + 0.3 * torch.tanh(u)


@pytest.mark.parametrize(
    ("network", "step"),
    [(LSTM, oracles.lstm_step), (RNN, oracles.rnn_step), (LEAKY, leaky_step)],
)
def test_it_is_backpropagation_with_the_recurrence_through_other_units_cut(network, step):
    X, Y = stream(STEPS)
    ours, used = watched(network).model(1)
    start = initial(network)
    truth = oracles.whole_history(with_h_held(step), start, used, X, Y)
    assert distance(ours, truth) < EXACT
    assert distance(ours, oracles.whole_history(step, start, used, X, Y)) > 1e-2


def test_a_vanilla_networks_is_immediate_and_a_leaky_ones_rflo():
    X, Y = stream(STEPS)
    local, _ = adapted(make_learner("immediate", RNN), STEPS, rate=0.05)
    assert distance(watched(RNN).model(0)[0], local) < EXACT
    assert distance(watched(RNN, feedback="random").model(0)[0], local) > 1e-2
    ours, used = watched(LEAKY, feedback="random").model(1)
    assert distance(ours, rflo(used, X, Y, rate=0.3, leak=0.3, B=drawn()[1])) < EXACT
    assert distance(ours, rflo(used, X, Y, rate=0.3, leak=0.31, B=drawn()[1])) > 1e-4


@pytest.mark.parametrize("recurrence", [0.0, 1.0])
def test_without_recurrent_weights_nothing_is_left_out(recurrence):
    params = networks(LSTM)
    params["W_hh"] = recurrence * params["W_hh"]
    exact, ours = (adapted(r, STEPS, params)[0] for r in (make_learner("rtrl", LSTM), EProp(LSTM)))
    assert distance(ours, exact) < EXACT if recurrence == 0.0 else distance(ours, exact) > 1e-2


@pytest.mark.parametrize("kind", ["another", "turning"])
def test_a_network_whose_units_are_not_told_apart_is_refused(kind):
    with pytest.raises(OrlaError, match=r"eprop: the network \w+ does not declare that its units"):
        EProp(NETWORKS[kind][0])
