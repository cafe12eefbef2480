"""Derivatives of a step and of readouts against automatic ones."""

import functools
from dataclasses import dataclass

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    distance,
    make_learner,
    networks,
    one,
    stream,
    watch,
)

from orla.architectures.lstm import LSTM
from orla.architectures.retnet import RetNet
from orla.architectures.rnn import RNN
from orla.architectures.stack import Stack
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives, RetentionDerivatives
from orla.derivatives.stacked import StackedDerivatives
from orla.learners.base import Learner

STEPS = 16


@pytest.fixture
def automatic(monkeypatch):
    def switch():
        automatic = property(lambda self: AutomaticDerivatives(self.architecture))
        monkeypatch.setattr(Learner, "derivatives", automatic)

    return switch


def by_autograd(learner, params, X, Y):
    """The first update's gradient, from the errors of its steps as one sum."""
    network, leaves = learner.architecture, {n: p.requires_grad_() for n, p in params.items()}
    state, total = network.initial_state(params), 0.0
    for x, y in zip(X[: learner.stride], Y, strict=False):
        state = network.step(leaves, state, x)
        total = total + ((network.readout(leaves, state) - y) ** 2).mean()
    gradients = torch.autograd.grad(total, leaves.values())
    return [dict(zip(leaves, gradients, strict=True))]


@pytest.mark.parametrize("base", [RNN, LSTM])
@pytest.mark.parametrize("name", ["immediate", "tbptt-8-8", "rtrl"])
def test_a_readout_of_ones_own_is_differentiated(base, name, automatic):
    @dataclass(frozen=True)
    class Squashed(base):
        def readout(self, params, state):
            return torch.tanh(super().readout(params, state))

    X, Y = stream(STEPS)
    chosen = make_learner(name, Squashed(HIDDEN, N_IN, N_OUT))
    params = networks(chosen.architecture)
    plain = make_learner(name, base(HIDDEN, N_IN, N_OUT))
    structured, _ = watch(chosen, params, X, Y).model(0)
    linear, _ = watch(plain, params, X, Y).model(0)
    automatic()
    generic, _ = watch(chosen, params, X, Y).model(0)
    truth = by_autograd(chosen, {n: p[0] for n, p in params.items()}, X, Y)
    assert distance(structured, generic) < 1e-10
    assert distance(structured, linear) > 1e-2
    assert distance(structured[:1], truth) < 1e-10


def stack(*layers):
    return Stack(hidden=4, n_in=N_IN, n_out=N_OUT, layers=layers)


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (NETWORKS["another"][0], AutomaticDerivatives),
        (stack("rnn", "gru"), AutomaticDerivatives),
        (stack("gru", "rnn"), AutomaticDerivatives),
        (stack("lstm", "rnn"), StackedDerivatives),
        (RetNet(6, N_IN, N_OUT), RetentionDerivatives),
        (RetNet(6, N_IN, N_OUT, rotation=True), AutomaticDerivatives),  # whose memories turn
    ],
)
def test_derivatives_are_structured_where_the_network_is(network, kind):
    assert type(derivatives(network)) is kind


@pytest.mark.parametrize("name", ["tbptt-8-8", "uoro", "rtrl"])
def test_a_stacks_are_those_of_automatic_differentiation_over_starts_of_trials(name, automatic):
    network = stack({"kind": "rnn", "hidden": 3}, {"kind": "lstm", "hidden": 2}, "ctrnn")
    learner, starts = make_learner(name, network), torch.arange(STEPS) % 5 == 3
    run = functools.partial(watch, learner, networks(network), *stream(STEPS), rate=0.05)
    ours, through = (run(starts=masks).model(1)[0] for masks in (starts, ~starts))
    automatic()
    assert distance(ours, run(starts=starts).model(1)[0]) < 1e-10
    assert distance(ours, through) > 1e-3


@pytest.mark.parametrize("options", [{"heads": 2}, {"heads": 3, "keys": 3}, {"keys": 4}])
def test_the_previous_state_of_a_retnet_enters_as_gamma_times_its_memories_alone(options):
    network = RetNet(6, N_IN, N_OUT, **options)
    generator = torch.Generator().manual_seed(1)
    state = torch.randn(network.state_size, generator=generator, dtype=torch.float64)
    by_params, by_state = torch.func.jacrev(network.step, (0, 1))(
        one(network), state, stream(1)[0][0]
    )
    memories = slice(network.hidden, None)
    gamma = network.gamma(state).repeat_interleave(network.value_size * network.key_size)
    assert not by_state[memories, : network.hidden].any()
    torch.testing.assert_close(by_state[memories, memories], torch.diag(gamma))
    entering = {name for name, j in by_params.items() if j[memories].any()}
    assert entering == {"W_in", "b_in", "W_k", "W_v"}
