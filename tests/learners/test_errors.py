"""Gradients of a window's last error alone, and of errors shuffled in time: against autograd."""

import oracles
import pytest
import torch
from harness import NETWORKS, PLAIN, distance, initial, make_learner, networks, stream, watch

from orla import catalogue
from orla.engine.state import step_noise
from orla.errors import OrlaError

STEPS, WINDOW, EXACT = 18, 6, 1e-10
KINDS = {
    "tbptt": {"kind": "tbptt", "window": WINDOW, "update_every": WINDOW},
    "longer": {"kind": "tbptt", "window": 2 * WINDOW, "update_every": WINDOW},
    "immediate": {"kind": "immediate", "window": WINDOW},
}


def watched(kind, name, errors, rate=0.05, X=None):
    architecture = NETWORKS[kind][0]
    learner = make_learner({**KINDS[name], "errors": errors}, architecture)
    stream_x, Y = stream(STEPS)
    return watch(learner, networks(architecture), stream_x if X is None else X, Y, rate=rate)


def order(model, window):
    """The order that a model's seed draws for a window's errors."""
    drawn = step_noise((0, 1), window * WINDOW, WINDOW, 1, torch.zeros(2, 1, dtype=torch.float64))
    return drawn[:, model, 0].argsort()


def truth(kind, seen, model, name, errors):
    """Autograd, by the signal dL/dh_t that is given to each step of a window."""
    architecture, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    _, params = seen.model(model)
    by_step = [p for p in params for _ in range(WINDOW)]
    visited = oracles.states(step, initial(architecture), by_step, X)
    loss, answers = oracles.error_of(step), []
    for window, weights in enumerate(params):
        steps = range(window * WINDOW, (window + 1) * WINDOW)
        first = max(0, steps[0] - WINDOW) if name == "longer" else steps[0]
        leaves = {n: p.clone().requires_grad_() for n, p in weights.items()}
        signals = []
        for t in steps:
            h = visited[t + 1].clone().requires_grad_()
            signals.append(torch.autograd.grad(loss(weights, h, Y[t]), h)[0])
        kept = steps if errors != "last" else steps[-1:]
        if errors == "last":
            signals = [torch.zeros_like(s) for s in signals[:-1]] + signals[-1:]
        if errors == "shuffled":
            signals = [signals[i] for i in order(model, window)]
        value, state = sum(loss(leaves, visited[t + 1], Y[t]) for t in kept), None
        for t in range(first, steps[-1] + 1):
            before = visited[t]
            if state is not None and name != "immediate":
                before = before + (state - state.detach())
            state = step(leaves, before, X[t])
            if t >= steps[0]:
                value = value + signals[t - steps[0]] @ state
        gradients = torch.autograd.grad(value, leaves.values())
        answers.append(dict(zip(leaves, gradients, strict=True)))
    return answers


@pytest.mark.parametrize("errors", ["all", "last", "shuffled"])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("kind", PLAIN)
def test_gradients_of_all_last_or_shuffled_errors_are_those_of_autograd(kind, name, errors):
    seen = watched(kind, name, errors)
    ours, _ = seen.model(1)
    for other in ("all", "last", "shuffled"):
        away = distance(ours, truth(kind, seen, 1, name, other))
        assert away < EXACT if other == errors else away > 1e-3


def test_shuffles_differ_by_model_and_window_and_keep_the_readout_gradient():
    orders = [tuple(order(model, window).tolist()) for model in range(2) for window in range(3)]
    assert len(set(orders)) == 6
    # The readout's gradient is of all errors, and nobody's past.
    for errors, alike in (("shuffled", True), ("last", False)):
        readouts = [
            [g["W_out"] for g in watched("rnn", "tbptt", one, rate=0.0).model(0)[0]]
            for one in ("all", errors)
        ]
        same = all(torch.allclose(a, b) for a, b in zip(*readouts, strict=True))
        assert same == alike


@pytest.mark.parametrize("errors", ["last", "shuffled"])
@pytest.mark.parametrize("spec", [{"kind": "immediate"}, {"kind": "tbptt", "update_every": 1}])
def test_errors_of_an_update_with_one_step_are_refused(spec, errors):
    network = NETWORKS["rnn"][0]
    with pytest.raises(OrlaError, match=f'"errors" is {errors} and an update has one step; give'):
        catalogue.make("learner", spec | {"errors": errors}, architecture=network)
    catalogue.make("learner", spec, architecture=network)
