"""The low-rank RNN against the vanilla one with the matrix U V^T, in NumPy."""

import numpy as np
import pytest
import torch
from harness import HIDDEN, built, one, stream, trajectory

from orla import catalogue


def network(**options):
    return built("low_rank_rnn", **{"rank": 2} | options)


def test_it_is_the_vanilla_network_of_the_product():
    made, X = network(), stream(40)[0]
    params = one(made)
    p = {name: v.numpy() for name, v in params.items()}
    W_hh, h, other = p["U_hh"] @ p["V_hh"].T, np.zeros(HIDDEN), np.zeros(HIDDEN)
    assert np.linalg.matrix_rank(W_hh) == 2
    for x, state in zip(X, trajectory(made, params, X), strict=True):
        h = np.tanh(p["W_ih"] @ x.numpy() + W_hh @ h + p["b_h"])
        other = np.tanh(p["W_ih"] @ x.numpy() + W_hh.T @ other + p["b_h"])
        np.testing.assert_allclose(state.numpy(), h, rtol=1e-12, atol=1e-14)
    assert np.abs(h).max() > 0.1 and np.abs(h - other).max() > 1e-2  # U and V are no two of a kind


def test_it_begins_with_the_variance_and_the_radius_of_a_vanilla_network():
    made = catalogue.make("architecture", {"kind": "low_rank_rnn", "hidden": 256, "rank": 64})
    params = made.init(torch.Generator().manual_seed(0))
    W_hh = (params["U_hh"] @ params["V_hh"].T).numpy()
    assert W_hh.var() == pytest.approx(1 / (3 * 256), rel=0.05)
    radius = np.abs(np.linalg.eigvals(W_hh)).max()
    assert radius == pytest.approx(1 / np.sqrt(3), rel=0.1)
    bound = (3 / (256 * 64)) ** 0.25
    for name in ("U_hh", "V_hh"):
        assert 0.99 * bound < params[name].abs().max() <= bound
    assert params["W_ih"].abs().max() <= 1 / 16 and params["b_h"].abs().max() <= 1 / 16
