"""The vanilla RNN's immediate learner with Adam, one model, fused by hand in numba."""

from __future__ import annotations

import numba
import numpy as np

from benchmarks.problem import Problem, Weights

# Reassociation lets sums run in vector registers; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@numba.njit(fastmath=_FAST)
def _adam(p, m, v, g, rate, root):  # noqa: ANN001
    a = 0.9 * m + 0.1 * g
    b = 0.999 * v + 0.001 * g * g
    return p - rate * a / (np.sqrt(b) * root + 1e-8), a, b


@numba.njit(fastmath=_FAST)
def _row(p, m, v, scale, inputs, rate, root):  # noqa: ANN001
    for j in range(len(inputs)):
        p[j], m[j], v[j] = _adam(p[j], m[j], v[j], scale * inputs[j], rate, root)


@numba.njit(fastmath=_FAST)
def _run(W, b, W_out, b_out, X, Y, lr):  # noqa: ANN001
    # W holds [W_ih, W_hh] side by side: one row of it meets one vector z = [x, h].
    n, outputs, n_in = W.shape[0], W_out.shape[0], X.shape[1]
    mW, vW, mb, vb = np.zeros_like(W), np.zeros_like(W), np.zeros_like(b), np.zeros_like(b)
    mo, vo = np.zeros_like(W_out), np.zeros_like(W_out)
    mc, vc = np.zeros_like(b_out), np.zeros_like(b_out)
    z, h, delta, error = np.zeros(n_in + n), np.zeros(n), np.zeros(n), np.zeros(outputs)
    power1, power2 = 1.0, 1.0
    for t in range(len(X)):
        power1 *= 0.9
        power2 *= 0.999
        rate, root = lr / (1.0 - power1), 1.0 / np.sqrt(1.0 - power2)
        z[:n_in] = X[t]
        z[n_in:] = h
        for i in range(n):
            total = b[i]
            for j in range(n_in + n):
                total += W[i, j] * z[j]
            h[i] = np.tanh(total)
        for i in range(n):
            delta[i] = 0.0
        for k in range(outputs):
            total = b_out[k] - Y[t, k]
            for i in range(n):
                total += W_out[k, i] * h[i]
            error[k] = 2.0 / outputs * total
            for i in range(n):
                delta[i] += error[k] * W_out[k, i]
        for k in range(outputs):
            _row(W_out[k], mo[k], vo[k], error[k], h, rate, root)
            b_out[k], mc[k], vc[k] = _adam(b_out[k], mc[k], vc[k], error[k], rate, root)
        for i in range(n):
            d = delta[i] * (1.0 - h[i] * h[i])
            _row(W[i], mW[i], vW[i], d, z, rate, root)
            b[i], mb[i], vb[i] = _adam(b[i], mb[i], vb[i], d, rate, root)


def immediate(problem: Problem) -> Weights:
    """Final weights of model 0, with a first axis of one model."""
    w = problem.weights_of(0)
    W = np.concatenate([w["W_ih"], w["W_hh"]], 1)
    b, W_out, b_out = w["b_h"].copy(), w["W_out"].copy(), w["b_out"].copy()
    _run(W, b, W_out, b_out, *problem.stream, problem.rate)
    n_in = problem.n_in
    final = {"W_ih": W[:, :n_in], "W_hh": W[:, n_in:], "b_h": b, "W_out": W_out, "b_out": b_out}
    return {name: value[None] for name, value in final.items()}


@numba.njit(fastmath=_FAST)
def _adam_alone(p, m, v, g, rate, steps):  # noqa: ANN001
    for t in range(steps):
        for j in range(len(p)):
            p[j], m[j], v[j] = _adam(p[j], m[j], v[j], g[j], rate, 1.0 + t)


def adam_alone(parameters: int, steps: int) -> None:
    """Adam's arithmetic over `parameters` numbers, `steps` times: what no engine goes below."""
    p, m, v, g = (np.random.default_rng(0).random(parameters) for _ in range(4))
    _adam_alone(p, m, v, g, 1e-6, steps)
