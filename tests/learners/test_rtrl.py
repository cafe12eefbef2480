"""Exact RTRL by each way of its products, against three oracles, step by step."""

import oracles
import pytest
import torch
from harness import (
    N_IN,
    N_OUT,
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
from orla.architectures.retnet import RetNet
from orla.architectures.rnn import RNN
from orla.architectures.stack import Stack
from orla.learners.rtrl import RTRL

EXACT, STEPS = 1e-10, 16


def stack(*layers):
    return Stack(hidden=4, n_in=N_IN, n_out=N_OUT, layers=layers)


def retnet(**options):
    return RetNet(6, N_IN, N_OUT, **options)


SMALL_RNN, SMALL_LSTM = {"kind": "rnn", "hidden": 3}, {"kind": "lstm", "hidden": 2}
# Every number of layers, of heads and of keys.
FURTHER = {
    "stack of 1": stack("rnn"),
    "stack of 2": stack("rnn", "rnn"),
    "stack of 3": stack(SMALL_RNN, SMALL_LSTM, "ctrnn"),
    "stack, slstm": stack(SMALL_LSTM, "rnn", "slstm"),
    "retnet, 2 heads": retnet(heads=2),
    "retnet, 3 keys": retnet(heads=3, keys=3),
    "retnet, 4 keys": retnet(keys=4),
    "retnet, turning": retnet(heads=3, rotation=True),
}
WAYS = {kind: NETWORKS[kind] for kind in (*PLAIN, *OF_THEIR_OWN)}
WAYS |= {name: (network, network.step) for name, network in FURTHER.items()}
WAYS |= {f"{kind}, kernels": NETWORKS[kind] for kind in ("rnn", "lstm")}


@pytest.mark.parametrize(
    ("way", "block"), [(w, b) for w in WAYS for b in (1, 7, 100) if b == 7 or w not in FURTHER]
)
def test_it_is_the_dense_recursion_with_each_steps_own_weights(way, block, request):
    if way.endswith("kernels"):
        request.getfixturevalue("with_kernels")
    (architecture, step), (X, Y) = WAYS[way], stream(STEPS)
    watched = watch(RTRL(architecture, block=block), networks(architecture), X, Y, rate=0.05)
    ours, params = watched.model(1)
    given = step, initial(architecture), params, X, Y
    assert distance([params[-1]], [params[0]]) > 0.05
    assert distance(ours, oracles.dense_rtrl(*given)) < EXACT
    if block == 7 and way not in FURTHER:  # and of the whole history, by autograd
        whole = oracles.whole_history(*given)
        assert distance(ours, whole) < EXACT and all_learn(whole)


@pytest.mark.parametrize("kernels", [False, True])
def test_it_is_the_dense_recursion_over_several_blocks_of_the_default_length(kernels, request):
    if kernels:
        request.getfixturevalue("with_kernels")
    architecture, step = NETWORKS["rnn"]
    learner = RTRL(architecture)
    X, Y = stream(2 * learner.block_length + 3)
    ours, params = watch(learner, networks(architecture, 1), X, Y, rate=0.02).model(0)
    truth = oracles.dense_rtrl(step, initial(architecture), params, X, Y)
    assert distance(ours, truth) < EXACT


@pytest.mark.parametrize("kind", ["lstm", "another", "slstm", "rwkv"])
def test_finite_differences_agree(kind):
    """Of stabilised exponentials too, whose stabiliser no derivative passes through."""
    architecture, step = NETWORKS[kind]
    ours, params = adapted(RTRL(architecture, block=2), 6)
    truth = oracles.finite_differences(step, initial(architecture), params[0], *stream(6))
    assert distance(ours[-1:], [truth]) < 1e-6


def test_the_block_length_follows_the_size():
    assert RTRL(NETWORKS["rnn"][0], block=9).block_length == 9
    rnn = {size: RNN(size, 3, 2) for size in (48, 64, 200)}
    chosen = {rnn[48]: 32, rnn[64]: 48, LSTM(64, 3, 2): 48, rnn[200]: 64}
    assert {made: RTRL(made).block_length for made in chosen} == chosen


def test_networks_of_few_sensitivities_carry_no_more():
    """A layer has none of the layers below; a head's are sums over the past."""
    layers = RTRL(stack(SMALL_RNN, SMALL_LSTM, "rnn"))
    ours = layers.buffers(networks(layers.architecture, 1))["sensitivity"]
    states, rows = (3 + 4 + 4, 4 + 4, 4), (3 * (N_IN + 4), 8 * (3 + 2 + 1), 4 * (2 + 4 + 1))
    assert {name: P.shape[1] for name, P in ours.items()} == dict(
        zip(("P.0", "P.1", "P.2"), states, strict=True)
    )
    assert tuple(P[0, 0].numel() for P in ours.values()) == rows
    heads = RTRL(RetNet(16, N_IN, N_OUT))
    ours = heads.buffers(networks(heads.architecture, 1))["sensitivity"]
    assert sum(P.numel() for P in ours.values()) == 2 * 16**2 + 16**3 * (N_IN + 1)
    assert all(P.dtype == torch.float64 for P in ours.values())
