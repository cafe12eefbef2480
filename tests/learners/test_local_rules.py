"""RFLO and e-prop against their papers' equations in NumPy; e-prop against autograd as well."""

import numpy as np
import oracles
import pytest
import torch
from harness import NETWORKS, all_learn, distance, initial, networks, stream, watch
from learners.others import Leaky

from orla.engine.state import fixed_noise
from orla.learners.eprop import EProp
from orla.learners.rflo import RFLO

EXACT, STEPS, SEEDS = 1e-10, 24, (3, 11)
RNN, LSTM, LEAKY = NETWORKS["rnn"][0], NETWORKS["lstm"][0], Leaky(5, 3, 2)


def in_numpy(steps):
    """Parameters by step as NumPy arrays."""
    return [{name: p.numpy() for name, p in step.items()} for step in steps]


def by_parameter(gradient, n_in):
    """A gradient of (x, h, 1) by parameter, as tensors."""
    parts = {"W_ih": gradient[:, :n_in], "W_hh": gradient[:, n_in:-1], "b_h": gradient[:, -1]}
    return {name: torch.from_numpy(g.copy()) for name, g in parts.items()}


def readout(params, h, y):
    """dL/dy of the mean squared error, and the readout's gradient."""
    on_outputs = 2.0 / len(y) * (params["W_out"] @ h + params["b_out"] - y)
    gradient = {"W_out": np.outer(on_outputs, h), "b_out": on_outputs}
    return on_outputs, {name: torch.from_numpy(g) for name, g in gradient.items()}


def rflo(params_by_step, X, Y, *, rate, leak, B=None):
    """Murray (2019): p <- (1 - leak) p + leak phi'(u) (x, h, 1), gradient (B dL/dy) p.

    `rate` is the network's own leak; B is W_out^T where none is given.
    """
    X, Y, n = X.numpy(), Y.numpy(), len(params_by_step[0]["b_h"])
    h, p, answers = np.zeros(n), 0.0, []
    for params, x, y in zip(in_numpy(params_by_step), X, Y, strict=True):
        u = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
        seen = np.concatenate([x, h, [1.0]])
        p = (1.0 - leak) * p + leak * np.outer(1.0 - np.tanh(u) ** 2, seen)
        h = (1.0 - rate) * h + rate * np.tanh(u)
        on_outputs, of_readout = readout(params, h, y)
        signal = (params["W_out"].T if B is None else B) @ on_outputs
        answers.append(by_parameter(signal[:, None] * p, len(x)) | of_readout)
    return answers


def lstm_eprop(params_by_step, X, Y, *, B=None, kept=1.0):
    """Bellec et al. (2020), LSTM: eps = f eps + dc/dtheta, e = o (1 - tanh(c)^2) eps + dh/dtheta.

    Anything but 1 for `kept` makes it wrong on purpose.
    """
    X, Y, n = X.numpy(), Y.numpy(), len(params_by_step[0]["b_h"]) // 4
    h, c, eps, answers = np.zeros(n), np.zeros(n), 0.0, []
    for params, x, y in zip(in_numpy(params_by_step), X, Y, strict=True):
        a = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
        seen = np.concatenate([x, h, [1.0]])
        i, f, o = (1.0 / (1.0 + np.exp(-a[k * n : (k + 1) * n])) for k in (0, 1, 3))
        g, c_before = np.tanh(a[2 * n : 3 * n]), c
        by_gates = [i * (1 - i) * g, f * (1 - f) * c_before, i * (1 - g**2), np.zeros(n)]
        eps = kept * np.tile(f, 4)[:, None] * eps + np.outer(np.concatenate(by_gates), seen)
        c = f * c_before + i * g
        h = o * np.tanh(c)
        on_h = np.concatenate([np.zeros(3 * n), o * (1 - o) * np.tanh(c)])
        e = np.tile(o * (1 - np.tanh(c) ** 2), 4)[:, None] * eps + np.outer(on_h, seen)
        on_outputs, of_readout = readout(params, h, y)
        signal = (params["W_out"].T if B is None else B) @ on_outputs
        answers.append(by_parameter(np.tile(signal, 4)[:, None] * e, len(x)) | of_readout)
    return answers


def random(scale):
    return {"feedback": "random", "feedback_scale": scale}


# A learner, its equation, what the equation is given, and the scale of a random feedback.
CASES = {
    "RFLO": (RFLO(RNN), rflo, {"rate": 1.0, "leak": 0.1}, None),
    "RFLO, a leak": (RFLO(RNN, leak=0.4), rflo, {"rate": 1.0, "leak": 0.4}, None),
    "RFLO, a leak of 1": (RFLO(RNN, leak=1.0), rflo, {"rate": 1.0, "leak": 1.0}, None),
    "RFLO, the leak of its network": (RFLO(LEAKY), rflo, {"rate": 0.3, "leak": 0.3}, None),
    "RFLO, another leak": (RFLO(LEAKY, leak=0.1), rflo, {"rate": 0.3, "leak": 0.1}, None),
    "RFLO, random": (RFLO(RNN, leak=0.2, **random(0.5)), rflo, {"rate": 1.0, "leak": 0.2}, 0.5),
    "RFLO, leaky, random": (
        RFLO(LEAKY, leak=0.2, **random(0.5)),
        rflo,
        {"rate": 0.3, "leak": 0.2},
        0.5,
    ),
    "e-prop, leaky": (EProp(LEAKY, **random(1.0)), rflo, {"rate": 0.3, "leak": 0.3}, 1.0),
    "e-prop, LSTM": (EProp(LSTM), lstm_eprop, {}, None),
    "e-prop, LSTM, random": (EProp(LSTM, **random(0.7)), lstm_eprop, {}, 0.7),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_papers_equation_while_weights_move(case):
    learner, equation, given, scale = CASES[case]
    X, Y = stream(STEPS)
    run = watch(learner, networks(learner.architecture), X, Y, rate=0.05, seeds=SEEDS)
    drawn = fixed_noise(SEEDS, 10, X).view(2, 5, 2).numpy() / np.sqrt(2)
    for model in range(2):
        ours, used = run.model(model)
        B = None if scale is None else scale * drawn[model]
        truth = equation(used, X, Y, B=B, **given)
        assert distance(ours, truth) < EXACT
        assert all_learn(truth)
    assert distance([used[-1]], [used[0]]) > 0.01
    assert distance(ours, equation([used[0]] * STEPS, X, Y, B=B, **given)) > 1e-3
    off = given | ({"leak": given["leak"] - 0.01} if "leak" in given else {"kept": 0.99})
    assert distance(ours, equation(used, X, Y, B=B, **off)) > 1e-4
    # Another feedback: of another model, of another scale, or none that is random.
    others = [drawn[1]] if scale is None else [None, scale * drawn[0], 1.5 * scale * drawn[1]]
    for other in others:
        assert distance(ours, equation(used, X, Y, B=other, **given)) > 1e-2


def with_h_held(step):
    """As `step` in every value; its derivatives are those with h held fixed in W_hh h."""

    def stepped(params, state, x):
        h = state[: params["W_hh"].shape[1]]
        # W_hh (h.detach() - h) is zero, and takes the derivative by h out of W_hh h.
        held = params["W_hh"].detach() @ (h.detach() - h)
        return step(params | {"b_h": params["b_h"] + held}, state, x)

    return stepped


def leaky_step(params, h, x):
    u = params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]
    return 0.7 * h + 0.3 * torch.tanh(u)


@pytest.mark.parametrize(
    ("network", "step"),
    [(LSTM, oracles.lstm_step), (RNN, oracles.rnn_step), (LEAKY, leaky_step)],
)
def test_eprop_is_backpropagation_with_the_recurrence_through_other_units_cut(network, step):
    X, Y = stream(STEPS)
    ours, used = watch(EProp(network), networks(network), X, Y, rate=0.05).model(1)
    start = initial(network)
    truth = oracles.whole_history(with_h_held(step), start, used, X, Y)
    assert distance(ours, truth) < EXACT
    assert distance(ours, oracles.whole_history(step, start, used, X, Y)) > 1e-2
