"""Exact RTRL by both ways of its products, against three oracles, step by step."""

import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    OF_THEIR_OWN,
    PLAIN,
    adapted,
    all_learn,
    distance,
    initial,
    networks,
    stream,
    watch,
)

from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.learners.rtrl import RTRL

EXACT = 1e-10
STEPS = 23


# Both ways in which the products with P are computed, the second where units act by themselves.
WAYS = [(kind, "pulled") for kind in (*PLAIN, *OF_THEIR_OWN)]
WAYS += [(kind, "kernels") for kind in ("rnn", "lstm")]


@pytest.fixture(params=WAYS, ids="-".join)
def network(request):
    kind, products = request.param
    if products == "kernels":
        request.getfixturevalue("with_kernels")
    return NETWORKS[kind]


@pytest.mark.parametrize("block", [1, 7, 100])
def test_it_is_the_dense_recursion_with_each_steps_own_weights(network, block):
    architecture, step = network
    given = step, initial(architecture)
    X, Y = stream(STEPS)
    watched = watch(RTRL(architecture, block=block), networks(architecture), X, Y, rate=0.05)
    ours, params = watched.model(1)
    assert distance([params[-1]], [params[0]]) > 0.05
    assert distance(ours, oracles.dense_rtrl(*given, params, X, Y)) < EXACT
    if block == 7:  # and of the whole history, by autograd
        whole = oracles.whole_history(*given, params, X, Y)
        assert distance(ours, whole) < EXACT and all_learn(whole)


@pytest.mark.parametrize("network", [("rnn", "pulled"), ("rnn", "kernels")], indirect=True)
def test_the_default_block_is_rebuilt_within_a_stream(network):
    architecture, step = network
    learner = RTRL(architecture)
    X, Y = stream(2 * learner.block_length + 3)
    watched = watch(learner, networks(architecture, models=1), X, Y, rate=0.02)
    ours, params = watched.model(0)
    truth = oracles.dense_rtrl(step, initial(architecture), params, X, Y)
    assert distance(ours, truth) < EXACT


def test_a_stream_in_segments_is_the_same_stream(network):
    architecture, _ = network
    X, Y = stream(STEPS)
    params, learner = networks(architecture), RTRL(architecture, block=4)
    whole = watch(learner, params, X, Y, rate=0.05, segment=STEPS)
    parts = watch(learner, params, X, Y, rate=0.05, segment=5)
    for a, b in zip(whole.gradients, parts.gradients, strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)


def test_finite_differences_agree(network):
    architecture, step = network
    ours, params = adapted(RTRL(architecture, block=2), 6)
    truth = oracles.finite_differences(step, initial(architecture), params[0], *stream(6))
    assert distance(ours[-1:], [truth]) < 1e-6


def test_single_precision_is_close_to_double(network):
    architecture, step = network
    X, Y = stream(STEPS)
    params = networks(architecture, models=1, dtype=torch.float32)
    ours, _ = watch(RTRL(architecture, block=4), params, X.float(), Y.float()).model(0)
    assert ours[0]["W_out"].dtype == torch.float32
    double = [{n: p[0].double() for n, p in params.items()}] * STEPS
    truth = oracles.dense_rtrl(step, initial(architecture), double, X, Y)
    difference = distance([{n: g.double() for n, g in s.items()} for s in ours], truth)
    assert 1e-12 < difference < 1e-4


def test_the_block_length_follows_the_size():
    def rnn(hidden):
        return RNN(hidden, 3, 2)

    architecture, _ = NETWORKS["rnn"]
    assert RTRL(architecture, block=9).block_length == 9
    chosen = {rnn(48): 32, rnn(64): 48, LSTM(64, 3, 2): 48, rnn(200): 64}
    for made, length in chosen.items():
        assert RTRL(made).block_length == length
