"""Networks on top of each other: each layer's derivatives, handed down within a step."""

import pytest
import torch
from harness import N_IN, N_OUT, distance, from_dense_rtrl, make_learner, networks, stream, watch

from orla.architectures.stack import Stack
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.stacked import StackedDerivatives

STEPS = 23
LAYERS = [
    ["rnn"],
    ["rnn", "rnn"],
    [{"kind": "rnn", "hidden": 3}, {"kind": "lstm", "hidden": 2}, "ctrnn"],
    [{"kind": "lstm", "hidden": 2}, "rnn", "slstm"],
]


def stack(layers, hidden=4):
    return Stack(hidden=hidden, n_in=N_IN, n_out=N_OUT, layers=tuple(layers))


def test_a_layer_without_linear_gates_leaves_all_to_automatic_differentiation():
    assert type(derivatives(stack(["rnn", "gru"]))) is AutomaticDerivatives
    assert type(derivatives(stack(["gru", "rnn"]))) is AutomaticDerivatives
    assert type(derivatives(stack(["lstm", "rnn"]))) is StackedDerivatives


@pytest.mark.parametrize("block", [3, 100])
@pytest.mark.parametrize("layers", LAYERS)
def test_every_number_of_layers_gives_the_dense_recursion(layers, block):
    assert from_dense_rtrl(stack(layers), block, STEPS) < 1e-10


@pytest.mark.parametrize("name", ["immediate", "tbptt-8-8", "uoro", "rtrl"])
def test_they_are_those_of_automatic_differentiation_over_starts_of_trials(name, monkeypatch):
    network = stack(LAYERS[2])
    learner = make_learner(name, network)
    X, Y = stream(24)
    starts = torch.arange(24) % 5 == 3
    given = {"rate": 0.05, "starts": starts}
    if learner.noise:
        given["seeds"] = [0, 1]
    ours, _ = watch(learner, networks(network), X, Y, **given).model(1)
    through, _ = watch(learner, networks(network), X, Y, **(given | {"starts": ~starts})).model(1)
    automatic = property(lambda self: AutomaticDerivatives(self.architecture))
    monkeypatch.setattr("orla.learners.base.Learner.derivatives", automatic)
    theirs, _ = watch(learner, networks(network), X, Y, **given).model(1)
    assert distance(ours, theirs) < 1e-10
    assert distance(ours, through) > 1e-3


def test_a_layer_has_no_sensitivity_of_the_layers_below():
    network = stack(["rnn", "lstm", "rnn"], hidden=5)
    params = networks(network, models=1)
    ours = derivatives(network).sensitivity(params)
    assert {name: P.shape[1] for name, P in ours.items()} == {"P.0": 20, "P.1": 15, "P.2": 5}
    sizes = {"P.0": 5 * (N_IN + 6), "P.1": 20 * 11, "P.2": 5 * 11}
    assert {name: P[0, 0].numel() for name, P in ours.items()} == sizes
    dense = AutomaticDerivatives(network).sensitivity(params)
    assert sum(P.numel() for P in dense.values()) == 20 * sum(sizes.values())
