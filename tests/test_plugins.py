"""The parts of tests/plugins, each held to an oracle that shares no code with it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from harness import networks, stream, watch

from orla import catalogue
from orla.catalogue.plugins import is_from_outside

PLUGINS = Path(__file__).parent / "plugins"
# Rows of the MGU's parameters with 5 units: its gate's, its candidate's.
GATES = (slice(0, 5), slice(5, 10))
MARKS = {
    "task": "echo",
    "architecture": "mgu",
    "loss": "huber",
    "start": "damped",
    "learner": "discounted",
    "optimizer": "adagrad",
    "intervention": "clip",
    "probe": "gradient_norm",
    "statistic": "gradient_norms",
    "table": "gradient_norms",
    "figure": "norm_against_error",
}


@pytest.fixture(scope="module", autouse=True)
def plugins():
    before = catalogue.plugin_folders()
    catalogue.use_plugins([PLUGINS])
    yield
    catalogue.use_plugins(before)


def network_of(kind, hidden=5):
    return catalogue.make("architecture", {"kind": kind, "hidden": hidden}, n_in=3, n_out=2)


def test_each_kind_of_part_is_added_by_a_file_of_its_own():
    assert set(MARKS) == set(catalogue.KIND_PACKAGES)
    for kind, name in MARKS.items():
        also = {"ugrnn"} if kind == "architecture" else set()
        parts = catalogue.parts(kind)
        assert {n for n in parts if is_from_outside(parts[n])} == {name} | also


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def test_the_network_is_its_formula():
    """Each gate with a weight matrix and a bias of its own, in NumPy."""
    network = network_of("mgu")
    params = {n: p[0] for n, p in networks(network).items()}
    W_f, W_n, U_f, U_n = (params[n][rows].numpy() for n in ("W_ih", "W_hh") for rows in GATES)
    b_f, b_n = (params["b_h"][rows].numpy() for rows in GATES)
    ours, h, reset_after = network.initial_state(params), np.zeros(5), np.zeros(5)
    for x in stream(20)[0]:
        ours = network.step(params, ours, x)
        f = sigmoid(W_f @ x.numpy() + U_f @ h + b_f)
        h = (1 - f) * h + f * np.tanh(W_n @ x.numpy() + U_n @ (f * h) + b_n)
        np.testing.assert_allclose(ours, h, rtol=1e-12, atol=1e-14)
        f = sigmoid(W_f @ x.numpy() + U_f @ reset_after + b_f)
        n = np.tanh(W_n @ x.numpy() + f * (U_n @ reset_after) + b_n)
        reset_after = (1 - f) * reset_after + f * n
    assert np.abs(h).max() > 0.1
    assert np.abs(h - reset_after).max() > 1e-3  # with the gate behind the matrix, as in a GRU


@pytest.mark.parametrize("kind", ["mgu", "ugrnn"])
@pytest.mark.parametrize("name", ["tbptt-8-8", "rtrl"])
def test_learners_of_the_package_work_on_the_network(name, kind):
    """The summed errors of 8 steps have one gradient, by whichever learner."""
    network = network_of(kind)
    X, Y = stream(8)
    params = networks(network)
    learner = catalogue.make("learner", name, architecture=network)
    ours = {
        n: sum(g[n][0] for g in watch(learner, params, X, Y).gradients) for n in network.shapes()
    }
    leaves = {n: p[0].clone().requires_grad_() for n, p in params.items()}
    state, error = network.initial_state(leaves), 0.0
    for x, y in zip(X, Y, strict=True):
        state = network.step(leaves, state, x)
        error = error + ((leaves["W_out"] @ state + leaves["b_out"] - y) ** 2).mean()
    for n, gradient in zip(leaves, torch.autograd.grad(error, leaves.values()), strict=True):
        torch.testing.assert_close(ours[n], gradient, rtol=1e-9, atol=1e-12)


def discounted_by_hand(network, params, X, Y, discount):
    """Each step's gradient: dense Jacobians by autograd, what comes from the past discounted."""
    recurrent, p = list(network.recurrent_shapes()), {n: q[0] for n, q in params.items()}
    e = {n: torch.zeros(network.state_size, *p[n].shape, dtype=torch.float64) for n in recurrent}
    state, found = network.initial_state(p), []
    for x, y in zip(X, Y, strict=True):

        def step(state, *values, x=x):
            return network.step(p | dict(zip(recurrent, values, strict=True)), state, x)

        given = (state, *(p[n] for n in recurrent))
        J, *direct = torch.autograd.functional.jacobian(step, given)
        state = step(*given)
        e = {
            n: discount * torch.einsum("ij,j...->i...", J, e[n]) + d
            for n, d in zip(recurrent, direct, strict=True)
        }
        wrong = p["W_out"] @ state + p["b_out"] - y
        cotangent = (2 / len(y)) * p["W_out"].T @ wrong
        found.append({n: torch.tensordot(cotangent, e[n], 1) for n in recurrent})
    return found


@pytest.mark.parametrize("kind", ["mgu", "rnn"])
def test_the_learner_discounts_the_past(kind):
    network = network_of(kind, 4)
    params, (X, Y) = networks(network), stream(6)

    def ours(given):
        learner = catalogue.make("learner", given, architecture=network)
        return watch(learner, params, X, Y).gradients

    def close(one, other):
        return all(
            torch.allclose(g[n][0], h[n], rtol=1e-10, atol=1e-13)
            for g, h in zip(one, other, strict=True)
            for n in network.recurrent_shapes()
        )

    for discount in (0.0, 0.8, 1.0):
        given = {"kind": "discounted", "discount": discount}
        found = ours(given)
        assert close(found, discounted_by_hand(network, params, X, Y, discount))
        assert not close(found, discounted_by_hand(network, params, X, Y, 0.5))
        this = [{n: g[n][0] for n in g} for g in found]
        # Between the two of the package, and at the ends one of them.
        assert close(ours("immediate"), this) == (discount == 0)
        assert close(ours("rtrl"), this) == (discount == 1)


@pytest.mark.parametrize("options", [{}, {"initial": 0.1, "eps": 1e-3}])
def test_the_optimizer_is_torchs(options):
    optimizer = catalogue.make("optimizer", {"kind": "adagrad", **options})
    drawn = torch.Generator().manual_seed(0)
    start, *gradients = torch.randn(21, 3, 4, generator=drawn, dtype=torch.float64)
    params = {"W": start}
    state, leaf = optimizer.init(params), start.clone().requires_grad_()
    named = {"initial_accumulator_value": options.get("initial", 0.0)}
    theirs = torch.optim.Adagrad([leaf], lr=0.1, eps=options.get("eps", 1e-10), **named)
    rate = torch.tensor(0.1, dtype=torch.float64)
    for gradient in gradients:
        leaf.grad = gradient.clone()
        theirs.step()
        updates, state = optimizer.update({"W": gradient}, state, params, rate)
        params = {"W": params["W"] + updates["W"]}
    torch.testing.assert_close(params["W"], leaf.detach(), rtol=1e-12, atol=1e-14)
    assert not torch.allclose(params["W"], start, rtol=1e-2)


@pytest.mark.parametrize("delta", [0.3, 1.0])
def test_the_loss_is_torchs(delta):
    loss = catalogue.make("loss", {"kind": "huber", "delta": delta})
    outputs, Y = (2 * torch.randn(2, 30, 3, dtype=torch.float64) for _ in range(2))
    theirs = torch.nn.HuberLoss(reduction="none", delta=delta)(outputs, Y).mean(-1)
    torch.testing.assert_close(loss.step_losses(outputs, Y), theirs)
    leaf = outputs[0, 0].clone().requires_grad_()
    torch.nn.HuberLoss(delta=delta)(leaf, Y[0, 0]).backward()
    error, cotangent = loss.with_cotangent(outputs[0, 0], Y[0, 0])
    torch.testing.assert_close(error, theirs[0, 0])
    torch.testing.assert_close(cotangent, leaf.grad)
    scored = torch.arange(30) % 3 == 0
    sizes = np.abs(outputs.numpy() - Y.numpy()).mean(2)[:, ::3].mean(1)
    np.testing.assert_allclose(loss.scores(outputs, Y, scored)["absolute_error"], sizes)
