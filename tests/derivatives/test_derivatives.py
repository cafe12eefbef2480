"""Structured derivatives against automatic ones, and readouts that are not linear."""

from dataclasses import dataclass

import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, NETWORKS, all_learn, distance, networks, stream, watch
from orla.derivatives.derivatives import AutomaticDerivatives, StructuredDerivatives, derivatives

from orla.architectures import LSTM, RNN
from orla.learners import Learner, learner

LEARNERS = ["immediate", "immediate-6", "tbptt-6-6", "tbptt-5-3", "tbptt-4-1", "last-layer", "rtrl"]


@pytest.fixture
def automatic(monkeypatch):
    def switch():
        automatic = property(lambda self: AutomaticDerivatives(self.architecture))
        monkeypatch.setattr(Learner, "derivatives", automatic)

    return switch


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_structured_equal_automatic(kind, name, automatic):
    architecture, _ = NETWORKS[kind]
    steps = 36 if name == "rtrl" else 12
    X, Y = stream(steps)
    params = networks(architecture)
    chosen = learner(name, architecture)
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


@pytest.mark.parametrize("base", [RNN, LSTM])
@pytest.mark.parametrize("name", ["immediate", "tbptt-6-6", "rtrl"])
def test_a_readout_of_ones_own_is_differentiated(base, name, automatic):
    @dataclass(frozen=True)
    class Squashed(base):
        def readout(self, params, state):
            return torch.tanh(super().readout(params, state))

    X, Y = stream(12)
    chosen = learner(name, Squashed(HIDDEN, N_IN, N_OUT))
    params = networks(chosen.architecture)
    plain = learner(name, base(HIDDEN, N_IN, N_OUT))
    structured, _ = watch(chosen, params, X, Y).model(0)
    linear, _ = watch(plain, params, X, Y).model(0)
    automatic()
    generic, _ = watch(chosen, params, X, Y).model(0)
    assert distance(structured, generic) < 1e-10
    assert distance(structured, linear) > 1e-2
