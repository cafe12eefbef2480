"""Structured derivatives against automatic ones, and readouts that are not linear."""

from dataclasses import dataclass

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    all_learn,
    distance,
    make_learner,
    networks,
    stream,
    taking,
    watch,
)

from orla.architectures.base import LinearGates
from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.structured import StructuredDerivatives
from orla.learners.base import Learner
from orla.learners.sensitivity import SensitivityLearner

LINEAR = [kind for kind, (network, _) in NETWORKS.items() if isinstance(network, LinearGates)]
STEPS = 24


@pytest.fixture
def automatic(monkeypatch):
    def switch():
        automatic = property(lambda self: AutomaticDerivatives(self.architecture))
        monkeypatch.setattr(Learner, "derivatives", automatic)

    return switch


def by_own_units(learner):
    """Whether the learner's rule itself, not only its derivatives, is another for linear gates."""
    return isinstance(learner, SensitivityLearner) and not learner.dense


@pytest.mark.parametrize(
    "name", [n for n in taking("rnn") if not by_own_units(make_learner(n, NETWORKS["rnn"][0]))]
)
@pytest.mark.parametrize("kind", LINEAR)
def test_structured_equal_automatic(kind, name, automatic):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    chosen = make_learner(name, architecture)
    assert isinstance(chosen.derivatives, StructuredDerivatives)
    structured, _ = watch(chosen, params, X, Y, rate=0.05).model(1)
    automatic()
    assert isinstance(chosen.derivatives, AutomaticDerivatives)
    generic, _ = watch(chosen, params, X, Y, rate=0.05).model(1)
    assert distance(structured, generic) < 1e-10
    assert all_learn(generic)


def test_an_architecture_without_structure_gets_automatic_derivatives():
    architecture, _ = NETWORKS["another"]
    assert isinstance(derivatives(architecture), AutomaticDerivatives)


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
