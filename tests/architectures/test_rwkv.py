"""RWKV-4's time mixing against the sum over the whole past, and against plain numbers a and b."""

import dataclasses

import numpy as np
import oracles
import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, distance, networks, one, stream, trajectory, watch
from scipy.special import logsumexp

from orla.architectures.rwkv import RWKV
from orla.learners.rtrl import RTRL

STEPS = 24
NETWORK = RWKV(HIDDEN, N_IN, N_OUT)
PLAIN = dataclasses.replace(NETWORK, running_maximum=False)


def sums(params, X, first_bonus=True):
    """h at each step: a mean of all values so far, weighted by exp(k - age w), by log-sum-exp."""
    p = {name: value.numpy() for name, value in params.items()}
    U = X.numpy() @ p["W_in"].T + p["b_in"]
    before = np.concatenate([np.zeros((1, HIDDEN)), U[:-1]])
    r, k, v = (
        (p[f"mu_{n}"] * U + (1 - p[f"mu_{n}"]) * before) @ p[f"W_{n}"].T for n in ("r", "k", "v")
    )
    w, found = np.exp(p["decay"]), []
    for t in range(len(U)):
        age = np.arange(t, -1, -1)[:, None] - 1  # of the step before: 0
        exponents = k[: t + 1] - age * w
        exponents[t] = k[t] + (p["bonus"] if first_bonus else 0.0)
        share = np.exp(exponents - logsumexp(exponents, axis=0))
        found.append(p["W_o"] @ ((share * v[: t + 1]).sum(0) / (1 + np.exp(-r[t]))))
    return np.stack(found)


def plain(params, state, x):
    """A step of (h, u, a, b) with a and b as they are, by torch."""
    _, before, a, b = state.chunk(4)
    u = params["W_in"] @ x + params["b_in"]
    r, k, v = (
        params[f"W_{n}"] @ (params[f"mu_{n}"] * u + (1 - params[f"mu_{n}"]) * before)
        for n in ("r", "k", "v")
    )
    now, decay = torch.exp(params["bonus"] + k), torch.exp(-torch.exp(params["decay"]))
    wkv = (a + now * v) / (b + now)
    a, b = decay * a + torch.exp(k) * v, decay * b + torch.exp(k)
    return torch.cat([params["W_o"] @ (torch.sigmoid(r) * wkv), u, a, b])


def scaled(scale):
    params = one(NETWORK)
    return params | {"W_k": scale * params["W_k"]}


def ours(params, X, network=NETWORK):
    return trajectory(network, params, X)[:, :HIDDEN].numpy()


def test_it_is_the_sum_over_the_past():
    X, _ = stream(STEPS)
    params = one(NETWORK)
    found = ours(params, X)
    np.testing.assert_allclose(found, sums(params, X), rtol=1e-9, atol=1e-11)
    assert abs(found).max() > 0.1
    assert abs(found - sums(params, X, first_bonus=False)).max() > 1e-3


def test_it_is_the_sum_where_exponentials_overflow():
    X, _ = stream(STEPS)
    params = scaled(20000.0)
    found = ours(params, X)
    np.testing.assert_allclose(found, sums(params, X), rtol=1e-7, atol=1e-9)
    start = torch.zeros(4 * HIDDEN, dtype=torch.float64)
    by_plain = oracles.states(plain, start, [params] * STEPS, X)
    assert not torch.stack(by_plain).isfinite().all()


def test_without_the_running_maximum_the_state_is_that_of_plain_numbers():
    X, _ = stream(STEPS)
    params = one(NETWORK)
    found = trajectory(PLAIN, params, X)
    start = torch.zeros(4 * HIDDEN, dtype=torch.float64)
    by_plain = torch.stack(oracles.states(plain, start, [params] * STEPS, X)[1:])
    torch.testing.assert_close(found[:, : 4 * HIDDEN], by_plain, rtol=1e-12, atol=1e-14)
    assert (found[:, 4 * HIDDEN :] == 0).all()
    np.testing.assert_allclose(found[:, :HIDDEN].numpy(), ours(params, X), rtol=1e-9, atol=1e-11)
    # The control: with it, the accumulators are stored divided by exp(p).
    kept = trajectory(NETWORK, params, X)
    assert not torch.allclose(kept[:, 2 * HIDDEN : 4 * HIDDEN], by_plain[:, 2 * HIDDEN :])


@pytest.mark.parametrize(
    ("network", "dtype", "finite"),
    [
        (NETWORK, torch.float32, True),
        (PLAIN, torch.float32, False),
        (PLAIN, torch.float64, True),
    ],
)
def test_single_precision_overflows_without_the_running_maximum(network, dtype, finite):
    """At exponents between those whose exp is finite in float32 (88) and in float64 (709)."""
    X, _ = stream(STEPS)
    params = scaled(300.0)
    keys = trajectory(NETWORK, params, X)[:, 4 * HIDDEN :]
    assert 89 < keys.max() < 700
    cast = {name: value.to(dtype) for name, value in params.items()}
    found = ours(cast, X.to(dtype), network)
    assert np.isfinite(found).all() == finite
    if finite:
        np.testing.assert_allclose(found, sums(params, X), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("network", [NETWORK, PLAIN])
def test_exact_rtrl_is_the_derivative_with_plain_numbers(network):
    X, Y = stream(STEPS)
    watched = watch(RTRL(network, block=7), networks(network), X, Y, rate=0.05)
    start = torch.zeros(4 * HIDDEN, dtype=torch.float64)
    for model in range(2):
        found, used = watched.model(model)
        truth = oracles.dense_rtrl(plain, start, used, X, Y)
        assert distance(found, truth) < 1e-10
    immediate = oracles.immediate(plain, start, used, X, Y)
    assert distance(found, immediate) > 1e-3


def test_initial_values_are_those_of_the_first_layer():
    params = RWKV(64, N_IN, N_OUT).init(torch.Generator().manual_seed(0))
    decay, mu = params["decay"], params["mu_k"]
    assert float(decay[0]) == -5.0 and float(decay[-1]) == 3.0
    assert float(decay[21]) == -5 + 8 * (21 / 63) ** 0.7
    assert mu.tolist() == [unit / 64 for unit in range(64)]
    torch.testing.assert_close(params["mu_r"] ** 2, mu)
    thirds = [np.log(0.3) + shift for shift in (0.0, 0.5, -0.5)]
    np.testing.assert_allclose(params["bonus"][:6], 2 * thirds)
    assert RWKV(1, N_IN, N_OUT).init(torch.Generator())["decay"].isfinite().all()
