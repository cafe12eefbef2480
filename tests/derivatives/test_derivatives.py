"""Structured derivatives against automatic ones, and readouts that are not linear."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    PAIRS,
    SQUARED_ERROR,
    USUAL,
    Normalised,
    all_learn,
    distance,
    in_full,
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
from orla.derivatives.stacked import StackedDerivatives
from orla.derivatives.structured import StructuredDerivatives
from orla.learners.base import Learner
from orla.learners.kf_rtrl import KFRTRL
from orla.learners.sensitivity import SensitivityLearner

STRUCTURED = {
    kind: StructuredDerivatives
    for kind, (network, _) in NETWORKS.items()
    if isinstance(network, LinearGates)
} | {"stack": StackedDerivatives}
STEPS = 24


@pytest.fixture
def automatic(monkeypatch):
    def switch():
        automatic = property(lambda self: AutomaticDerivatives(self.architecture))
        monkeypatch.setattr(Learner, "derivatives", automatic)

    return switch


def by_linear_gates(learner):
    """Whether the learner's rule itself, not only its derivatives, is another for linear gates."""
    own_units = isinstance(learner, SensitivityLearner) and not learner.dense
    return own_units or isinstance(learner, KFRTRL)


BOTH = [
    (kind, name)
    for kind in STRUCTURED
    for name in taking(kind)
    if not by_linear_gates(make_learner(name, NETWORKS[kind][0]))
]


SOME = [(kind, name) for kind, name in BOTH if (kind, name) in PAIRS or name in ("rtrl", *USUAL)]


@pytest.mark.parametrize(("kind", "name"), in_full(BOTH, SOME))
def test_structured_equal_automatic(kind, name, automatic):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture)
    chosen = make_learner(name, architecture)
    assert type(chosen.derivatives) is STRUCTURED[kind]
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


@dataclass(frozen=True)
class Meeting(Normalised):
    """Units that meet before they act, and say so."""

    units_independent: ClassVar[bool] = False


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
