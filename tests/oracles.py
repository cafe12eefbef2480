"""Gradients by other means, for one model, from the definitions in docs/protocol.md.

Nothing here knows the engine. A network is its textbook `step(params, state, x) -> state`, of
which the linear readout sees the first `hidden` entries; a step that is a method of a network comes
with that network's readout. Answers are lists over steps of {parameter: gradient}.
"""

import functools
from typing import NamedTuple

import torch
from torch.func import jacrev


def rnn_step(params, h, x):
    """h_t = tanh(W_ih x_t + W_hh h_{t-1} + b_h)."""
    return torch.tanh(params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"])


def lstm_step(params, state, x):
    """Input, forget, cell and output gates; the state is (h, c)."""
    h, c = state.chunk(2)
    i, f, g, o = (params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])


def gru_step(params, h, x):
    """Gates r, z, n; r multiplies all that n gets from h, the bias b_n among it."""
    r, z = torch.sigmoid(
        (params["W_ih"] @ x + params["b_h"])[: 2 * len(h)] + params["W_hh"][: 2 * len(h)] @ h
    ).chunk(2)
    W_in, W_hn, b_in = (params[name][2 * len(h) :] for name in ("W_ih", "W_hh", "b_h"))
    n = torch.tanh(W_in @ x + b_in + r * (W_hn @ h + params["b_n"]))
    return n + z * (h - n)


def ctrnn_step(params, h, x):
    """h + (dt/tau) dh/dt with dt/tau = 0.5."""
    return h + 0.5 * (rnn_step(params, h, x) - h)


def low_rank_rnn_step(params, h, x):
    """The RNN's step with W_hh = sum over k of u_k v_k^T, multiplied out."""
    columns = zip(params["U_hh"].T, params["V_hh"].T, strict=True)
    W_hh = sum(torch.outer(u, v) for u, v in columns)
    return rnn_step({**params, "W_hh": W_hh}, h, x)


def singular_rnn_step(params, h, x):
    """The RNN's step with W_hh = sum over k of s_k u_k v_k^T, u_k and v_k no part of a gradient."""
    bases = (params[name].detach().T for name in ("U_hh", "V_hh"))
    ranks = zip(params["s_hh"], *bases, strict=True)
    W_hh = sum(s * torch.outer(u, v) for s, u, v in ranks)
    return rnn_step({**params, "W_hh": W_hh}, h, x)


def lstm_below_rnn_step(params, state, x):
    """The state is (h of the RNN, h and c of the LSTM below it)."""
    n = len(params["b_h.1"])
    below, above = (
        {name.split(".")[0]: p for name, p in params.items() if name.endswith(layer)}
        for layer in (".0", ".1")
    )
    lstm = lstm_step(below, state[n:], x)
    return torch.cat([rnn_step(above, state[:n], lstm[: len(lstm) // 2]), lstm])


def linear(params, state):
    """W_out h + b_out."""
    return params["W_out"] @ state[: params["W_out"].shape[1]] + params["b_out"]


def loss(params, state, y, outputs=linear):
    """Mean over the outputs of the squared error."""
    return ((outputs(params, state) - y) ** 2).mean()


def cross_entropy(params, state, y, outputs=linear):
    """-log softmax(outputs)[y]."""
    return -torch.log_softmax(outputs(params, state), 0)[y]


def error_of(step, error=loss):
    """`error(params, state, y)` of the outputs that belong to the step."""
    network = getattr(step, "__self__", None)
    return error if network is None else functools.partial(error, outputs=network.readout)


def _leaves(params):
    return {name: p.clone().requires_grad_() for name, p in params.items()}


def _gradient(value, leaves):
    gradients = torch.autograd.grad(value, leaves.values(), retain_graph=True, allow_unused=True)
    return {
        name: torch.zeros_like(p) if g is None else g
        for (name, p), g in zip(leaves.items(), gradients, strict=True)
    }


def states(step, initial, params_by_step, X):
    """The state before each step, and after the last: steps + 1 tensors."""
    visited = [initial]
    for params, x in zip(params_by_step, X, strict=True):
        visited.append(step(params, visited[-1], x).detach())
    return visited


def whole_history(step, initial, params_by_step, X, Y, error=loss):
    """dL_t/dtheta by autograd through all of the past, summed over each step's own weights."""
    used, state, answers, error = [], initial, [], error_of(step, error)
    for params, x, y in zip(params_by_step, X, Y, strict=True):
        used.append(_leaves(params))
        state = step(used[-1], state, x)
        value = error(used[-1], state, y)
        parts = [_gradient(value, leaves) for leaves in used]
        answers.append({name: sum(part[name] for part in parts) for name in params})
    return answers


class Linear(NamedTuple):
    """A step's derivatives by state and parameters; the error's by the new state and parameters."""

    J: torch.Tensor
    D: dict[str, torch.Tensor]
    on_state: torch.Tensor
    direct: dict[str, torch.Tensor]


def linearised(step, initial, params_by_step, X, Y, error=loss):
    """Each step's `Linear`, by automatic differentiation of one step after the other."""
    state, answers, error = initial, [], error_of(step, error)
    for params, x, y in zip(params_by_step, X, Y, strict=True):
        D, J = jacrev(step, argnums=(0, 1))(params, state, x)
        state = step(params, state, x)
        direct, on_state = jacrev(error, argnums=(0, 1))(params, state, y)
        answers.append(Linear(J, D, on_state, direct))
    return answers


def recursion(linear, jacobian=lambda J: J, kept=None):
    """P <- kept (jacobian(J) P + D), dense (Williams and Zipser 1989); gradient (dL/dh_t) P_t."""
    P, answers = None, []
    for J, D, on_state, direct in linear:
        if P is not None:
            D = {name: torch.tensordot(jacobian(J), P[name], 1) + d for name, d in D.items()}
        P = D if kept is None else {name: kept.get(name, 1.0) * d for name, d in D.items()}
        answers.append({n: torch.tensordot(on_state, P[n], 1) + direct[n] for n in direct})
    return answers


def dense_rtrl(step, initial, params_by_step, X, Y, *, error=loss, **changed):
    """Exact RTRL, or the recursion with something changed."""
    return recursion(linearised(step, initial, params_by_step, X, Y, error), **changed)


def immediate(step, initial, params_by_step, X, Y, error=loss):
    """dL_t/dtheta by autograd with the state before the step detached."""
    before, answers = states(step, initial, params_by_step, X), []
    for state, params, x, y in zip(before, params_by_step, X, Y, strict=False):
        leaves = _leaves(params)
        value = error_of(step, error)(leaves, step(leaves, state, x), y)
        answers.append(_gradient(value, leaves))
    return answers


def truncated(step, initial, params_by_update, X, Y, window, stride, states_by_step, error=loss):
    """Every `stride` steps, the losses of those steps pulled back over the last `window` steps.

    The past is gone through with the weights of the update, each step's Jacobians taken at the
    state that was visited (`states_by_step`, before each step).
    """
    answers, error = [], error_of(step, error)
    for update, params in enumerate(params_by_update):
        end = (update + 1) * stride
        leaves, value, state = _leaves(params), 0.0, None
        for t in range(max(0, end - window), end):
            before = states_by_step[t]
            if state is not None:
                before = before + (state - state.detach())  # the value visited, the path kept
            state = step(leaves, before, X[t])
            if t >= end - stride:
                value = value + error(leaves, state, Y[t])
        answers.append(_gradient(value, leaves))
    return answers


def finite_differences(step, initial, params, X, Y, width=1e-6):
    """Gradient of the last step's loss, one run of the whole stream a perturbed weight."""

    def last_loss(params):
        state = initial
        for x in X:
            state = step(params, state, x)
        return error_of(step)(params, state, Y[-1])

    gradient = {name: torch.zeros(p.shape, dtype=p.dtype) for name, p in params.items()}
    for name, p in params.items():
        for index in range(p.numel()):
            shift = torch.zeros(p.shape, dtype=p.dtype)
            shift.view(-1)[index] = width
            up, down = ({**params, name: p + sign * shift} for sign in (1, -1))
            gradient[name].view(-1)[index] = (last_loss(up) - last_loss(down)) / (2 * width)
    return gradient
