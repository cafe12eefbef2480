"""Derivatives of a step and of readouts against automatic ones."""

from dataclasses import dataclass

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    SQUARED_ERROR,
    distance,
    make_learner,
    networks,
    stream,
    watch,
)
from learners.others import Meeting

from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives
from orla.learners.base import Learner

STEPS = 24


@pytest.fixture
def automatic(monkeypatch):
    def switch():
        automatic = property(lambda self: AutomaticDerivatives(self.architecture))
        monkeypatch.setattr(Learner, "derivatives", automatic)

    return switch


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


PUSHED = {kind: network for kind, (network, _) in NETWORKS.items()}
PUSHED["meeting"] = Meeting(HIDDEN, N_IN, N_OUT)


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("kind", PUSHED)
def test_pushing_forward_is_the_jacobian_times_a_tangent(kind, starts):
    network, draw = PUSHED[kind], torch.Generator().manual_seed(2)
    d, params, (X, _) = derivatives(network), networks(network), stream(3)
    state = torch.zeros(2, network.state_size, dtype=torch.float64)
    for x in X:
        before = state
        state, tape = d.forward(params, before, {"x": x})
    if starts:  # of the second model a trial begins
        tape = tape | {"keep": torch.tensor([1.0, 0.0], dtype=torch.float64)}
    rows = torch.randn(2, 4, network.state_size, generator=draw, dtype=torch.float64)
    moved = d.push(params, tape, before, rows)
    # A row alone is multiplied by a sum, rows together by a matmul: equal to rounding.
    alone = d.push(params, tape, before, rows[:, 0])
    torch.testing.assert_close(moved[:, 0], alone, rtol=1e-12, atol=1e-14)
    for model in range(2):
        one = {n: p[model] for n, p in params.items()}
        J = torch.func.jacrev(lambda s, p=one: network.step(p, s, X[-1]))(before[model])
        theirs = 0 * moved[0] if starts and model else rows[model] @ J.T
        torch.testing.assert_close(moved[model], theirs, rtol=1e-10, atol=1e-13)
        assert not torch.allclose(moved[model], rows[model] @ J, rtol=1e-3)
    # Pushing forward and pulling back are one matrix and its transpose.
    cotangent = torch.randn(2, network.state_size, generator=draw, dtype=torch.float64)
    pulled, local = d.pull(params, tape, cotangent)
    torch.testing.assert_close((pulled * rows[:, 0]).sum(1), (cotangent * moved[:, 0]).sum(1))

    window = [{n: t[None] for n, t in part.items()} for part in (tape, local)]
    gathered = [g.flatten(1) for g in d.gather(*window).values()]
    squares = torch.cat(gathered, 1).square().sum(1)
    torch.testing.assert_close(d.gradient_square(*window), squares, rtol=1e-12, atol=0.0)
    assert (squares > 1e-3).all()


@pytest.mark.parametrize("scored", [None, True, False])
@pytest.mark.parametrize("kind", ["rnn", "lstm", "lru"])
def test_the_readouts_gradient_is_autograds(kind, scored):
    architecture, _ = NETWORKS[kind]
    params, drawn = networks(architecture), torch.Generator().manual_seed(3)
    state = torch.randn(2, architecture.state_size, generator=drawn, dtype=torch.float64)
    moment = {"x": torch.zeros(N_IN, dtype=torch.float64), "y": torch.ones(N_OUT).double()}
    if scored is not None:
        moment["scored"] = torch.tensor(scored)
    error, on_outputs, pull = derivatives(architecture).outputs(
        SQUARED_ERROR, params, state, moment
    )
    on_state, gradient = pull(on_outputs)
    for i in range(2):
        leaves = {name: p[i].clone().requires_grad_() for name, p in params.items()}
        h = state[i].clone().requires_grad_()
        loss = ((architecture.readout(leaves, h) - moment["y"]) ** 2).mean()
        loss = loss * (1.0 if scored is None else float(scored))
        loss.backward()
        assert torch.allclose(error[i], loss.detach(), rtol=1e-12, atol=0)
        assert torch.allclose(on_state[i], h.grad, rtol=1e-12, atol=1e-15)
        for name, g in gradient.items():
            assert torch.allclose(g[i], leaves[name].grad, rtol=1e-12, atol=1e-15), name
