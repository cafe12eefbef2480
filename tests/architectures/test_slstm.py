"""sLSTM against its equations without the stabiliser."""

import numpy as np
import oracles
import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, distance, networks, one, stream, trajectory, watch
from scipy.special import expit, logsumexp

from orla.architectures.slstm import SLSTM
from orla.learners.rtrl import RTRL

STEPS = 30
FORGET = ["sigmoid", "exponential"]


def direct(forget, input_gate=torch.exp):
    """A step of (h, c, n) as eqs. 8 to 14 write it, by torch: exponentials and nothing else."""

    def step(params, state, x):
        h, c, n = state.chunk(3)
        i, f, z, o = (params["W_ih"] @ x + params["W_hh"] @ h + params["b_h"]).chunk(4)
        f = torch.sigmoid(f) if forget == "sigmoid" else torch.exp(f)
        c = f * c + input_gate(i) * torch.tanh(z)
        n = f * n + input_gate(i)
        return torch.cat([torch.sigmoid(o) * c / n, c, n])

    return step


def hidden_states(step, params, X, size):
    """h at each step, from a state of zeros."""
    start = torch.zeros(size, dtype=torch.float64)
    visited = oracles.states(step, start, [params] * len(X), X)[1:]
    return torch.stack(visited)[:, :HIDDEN]


def made(forget):
    network = SLSTM(HIDDEN, N_IN, N_OUT, forget=forget)
    return network, one(network)


@pytest.mark.parametrize("forget", FORGET)
def test_it_is_the_equations_without_stabiliser(forget):
    network, params = made(forget)
    X, _ = stream(STEPS)
    ours = hidden_states(network.step, params, X, network.state_size)
    theirs = hidden_states(direct(forget), params, X, 3 * HIDDEN)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    other = next(f for f in FORGET if f != forget)
    for wrong in (direct(other), direct(forget, torch.sigmoid)):
        assert float((hidden_states(wrong, params, X, 3 * HIDDEN) - ours).abs().max()) > 1e-3


@pytest.mark.parametrize("forget", FORGET)
@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_a_factor_of_all_input_gates_changes_nothing_and_no_number_overflows(forget, shift):
    network, params = made(forget)
    X, _ = stream(STEPS)
    shifted = params | {"b_h": params["b_h"].clone()}
    shifted["b_h"][:HIDDEN] += shift
    ours, theirs = (
        hidden_states(network.step, p, X, network.state_size) for p in (params, shifted)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)
    assert not hidden_states(direct(forget), shifted, X, 3 * HIDDEN).isfinite().all()


def sums(forget, params, X):
    """h at each step: a mean of all z so far, weighted by exp(i) and later f, by log-sum-exp."""
    p = {name: value.numpy() for name, value in params.items()}
    h, log_weights, zs, found = np.zeros(HIDDEN), np.zeros((0, HIDDEN)), [], []
    for x in X.numpy():
        i, f, z, o = np.split(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"], 4)
        log_f = -np.logaddexp(0, -f) if forget == "sigmoid" else f
        log_weights = np.concatenate([log_weights + log_f, i[None]])
        zs.append(np.tanh(z))
        share = np.exp(log_weights - logsumexp(log_weights, axis=0))
        h = expit(o) * (share * np.stack(zs)).sum(0)
        found.append(h)
    return np.stack(found)


@pytest.mark.parametrize("forget", FORGET)
def test_it_is_the_mean_over_the_past_where_exponentials_overflow(forget):
    network, params = made(forget)
    X, _ = stream(STEPS)
    params["W_ih"] = params["W_ih"].clone()
    params["W_ih"][: 2 * HIDDEN] *= 1000.0  # input and forget gates
    ours = hidden_states(network.step, params, X, network.state_size)
    np.testing.assert_allclose(ours, sums(forget, params, X), rtol=1e-8, atol=1e-10)
    assert not hidden_states(direct(forget), params, X, 3 * HIDDEN).isfinite().all()


@pytest.mark.parametrize("forget", FORGET)
def test_exact_rtrl_is_the_derivative_of_the_equations_without_stabiliser(forget):
    network, _ = made(forget)
    X, Y = stream(STEPS)
    watched = watch(RTRL(network, block=7), networks(network), X, Y, rate=0.05)
    start = torch.zeros(3 * HIDDEN, dtype=torch.float64)
    for model in range(2):
        ours, used = watched.model(model)
        truth = oracles.dense_rtrl(direct(forget), start, used, X, Y)
        assert distance(ours, truth) < 1e-10
    other = direct(next(f for f in FORGET if f != forget))
    assert distance(ours, oracles.dense_rtrl(other, start, used, X, Y)) > 1e-3


@pytest.mark.parametrize("forget", FORGET)
def test_the_normaliser_is_never_below_one(forget):
    network, params = made(forget)
    states = trajectory(network, params, 5.0 * stream(STEPS)[0])
    assert (states[:, 2 * HIDDEN : 3 * HIDDEN] >= 1.0).all()
