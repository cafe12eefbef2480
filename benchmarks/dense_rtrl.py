"""Exact RTRL with plain gradient descent by the dense recursion P <- J P + D, one model."""

from __future__ import annotations

import numpy as np

from benchmarks.problem import Problem, Weights


def _sigmoid(a: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-a))


def _rnn(a: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    h = np.tanh(a)
    return h, (1.0 - h * h)[None, None], np.zeros((1, 1, len(h)))


def _lstm(a: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    c = np.split(state, 2)[1]
    i, f, g, o = np.split(a, 4)
    i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
    after = f * c + i * g
    tanh = np.tanh(after)
    on_c = np.stack([g * i * (1 - i), c * f * (1 - f), i * (1 - g * g), np.zeros_like(c)])
    through = o * (1 - tanh * tanh)
    on_h = through * on_c
    on_h[3] = tanh * o * (1 - o)
    around = np.zeros((2, 2, len(c)))
    around[0, 1], around[1, 1] = through * f, f
    return np.concatenate([o * tanh, after]), np.stack([on_h, on_c]), around


# (state', G, R): per unit, G[s, g] = dstate'_s/da_g and R[s, r] = dstate'_s/dstate_r around a.
_ACTIVATE = {"rnn": _rnn, "lstm": _lstm}


def _jacobian(G: np.ndarray, R: np.ndarray, W_hh: np.ndarray) -> np.ndarray:
    parts, gates, n = G.shape
    J = np.zeros((parts, n, parts, n))
    J[:, :, 0] = np.einsum("sgi,gij->sij", G, W_hh.reshape(gates, n, n))
    unit = np.arange(n)
    J[:, unit, :, unit] += R.transpose(2, 0, 1)
    return J.reshape(parts * n, parts * n)


def blas(problem: Problem) -> Weights:
    """One matrix product in place and the few entries of D that are not zero."""
    return _adapt(problem, _Blas(problem))


def textbook(problem: Problem) -> Weights:
    """One array a parameter, D written out with all its zeros: the definition, line by line."""
    return _adapt(problem, _Textbook(problem))


class _Blas:
    def __init__(self, problem: Problem) -> None:
        self.size, self.n = problem.architecture.state_size, problem.hidden
        self.gates = len(problem.weights_of(0)["b_h"])
        self.n_in, self.length = problem.n_in, problem.n_in + self.n + 1
        self.P = np.zeros((self.size, self.gates * self.length))
        self.other = np.empty_like(self.P)
        self.unit = np.arange(self.n)

    def advance(self, J: np.ndarray, G: np.ndarray, x: np.ndarray, h: np.ndarray) -> None:
        np.matmul(J, self.P, out=self.other)
        self.P, self.other = self.other, self.P
        z = np.concatenate([x, h, [1.0]])
        view = self.P.reshape(self.size // self.n, self.n, self.gates // self.n, self.n, -1)
        view[:, self.unit, :, self.unit] += G.transpose(2, 0, 1)[..., None] * z

    def gradient(self, on_state: np.ndarray) -> Weights:
        g = (on_state @ self.P).reshape(self.gates, self.length)
        return {"W_ih": g[:, : self.n_in], "W_hh": g[:, self.n_in : -1], "b_h": g[:, -1]}


class _Textbook:
    def __init__(self, problem: Problem) -> None:
        self.size, self.n = problem.architecture.state_size, problem.hidden
        w = problem.weights_of(0)
        self.P = {name: np.zeros((self.size, *w[name].shape)) for name in ("W_ih", "W_hh", "b_h")}

    def advance(self, J: np.ndarray, G: np.ndarray, x: np.ndarray, h: np.ndarray) -> None:
        on_gates = np.einsum("sgi,ij->sigj", G, np.eye(self.n)).reshape(self.size, -1)
        D = {"W_ih": on_gates[..., None] * x, "W_hh": on_gates[..., None] * h, "b_h": on_gates}
        self.P = {name: np.tensordot(J, P, 1) + D[name] for name, P in self.P.items()}

    def gradient(self, on_state: np.ndarray) -> Weights:
        return {name: np.tensordot(on_state, P, 1) for name, P in self.P.items()}


def _adapt(problem: Problem, sensitivity: _Blas | _Textbook) -> Weights:
    w = {name: value.copy() for name, value in problem.weights_of(0).items()}
    n, activate = problem.hidden, _ACTIVATE[problem.name]
    state = np.zeros(problem.architecture.state_size)
    on_state = np.zeros_like(state)
    for x, y in zip(*problem.stream, strict=True):
        h = state[:n]
        state, G, R = activate(w["W_ih"] @ x + w["W_hh"] @ h + w["b_h"], state)
        sensitivity.advance(_jacobian(G, R, w["W_hh"]), G, x, h)
        error = 2.0 / problem.n_out * (w["W_out"] @ state[:n] + w["b_out"] - y)
        on_state[:n] = error @ w["W_out"]
        gradient = sensitivity.gradient(on_state)
        gradient |= {"W_out": error[:, None] * state[:n], "b_out": error}
        for name, g in gradient.items():
            w[name] -= problem.rate * g
    return {name: value[None] for name, value in w.items()}
