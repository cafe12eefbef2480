"""Retention step by step against its parallel form: a masked product of queries and keys."""

import numpy as np
import pytest
import torch
from harness import N_IN, N_OUT, one, stream, trajectory

from orla.architectures.retnet import RetNet

STEPS = 20


def turned(vectors, positions):
    """Pairs of numbers as complex ones, times exp(i position 10000^(-2j/d)) (positions, d)."""
    pairs = vectors[..., 0::2] + 1j * vectors[..., 1::2]
    angle = 10000.0 ** (-np.arange(0, vectors.shape[-1], 2) / vectors.shape[-1])
    return pairs * np.exp(1j * positions[:, None] * angle)


def parallel(network, params, X, decay=None):
    """h at each step: Retention(X) = (Q K^T * D) V, all steps at once (Sun et al. 2023, eq. 5)."""
    p = {name: value.numpy() for name, value in params.items()}
    U = X.numpy() @ p["W_in"].T + p["b_in"]
    steps = np.arange(len(U))
    age = steps[:, None] - steps
    outputs = []
    for head in range(network.heads):
        gamma = 1 - 2.0 ** (-5 - head) if decay is None else decay
        mask = np.where(age >= 0, gamma ** np.maximum(age, 0), 0.0)
        keys = slice(head * network.key_size, (head + 1) * network.key_size)
        values = slice(head * network.value_size, (head + 1) * network.value_size)
        Q, K, V = U @ p["W_q"][keys].T, U @ p["W_k"][keys].T, U @ p["W_v"][values].T
        if network.rotation:
            Q, K = turned(Q, steps), turned(K, steps)
        scores = (Q @ K.conj().T).real / np.sqrt(network.key_size)
        outputs.append((scores * mask) @ V)
    joined = torch.as_tensor(np.concatenate(outputs, 1))
    normal = torch.nn.functional.group_norm(joined, network.heads).numpy()
    G = U @ p["W_g"].T
    return (G / (1 + np.exp(-G)) * normal) @ p["W_o"].T


def recurrent(network, params, X):
    return trajectory(network, params, X)[:, : network.hidden].numpy()


def made(**given):
    network = RetNet(n_in=N_IN, n_out=N_OUT, **given)
    return network, one(network)


CASES = [
    {"hidden": 5},
    {"hidden": 6, "heads": 3},
    {"hidden": 6, "heads": 2, "keys": 5},
    {"hidden": 5, "keys": 4, "rotation": True},
    {"hidden": 8, "heads": 2, "rotation": True},
]


@pytest.mark.parametrize("given", CASES)
def test_steps_are_the_parallel_form(given):
    network, params = made(**given)
    X, _ = stream(STEPS)
    assert network.state_size == network.hidden + network.heads * (
        network.key_size * network.hidden // network.heads
    )
    ours = recurrent(network, params, X)
    np.testing.assert_allclose(ours, parallel(network, params, X), rtol=1e-9, atol=1e-11)
    assert abs(ours).max() > 0.1
    # The negative control: without decay.
    assert abs(ours - parallel(network, params, X, decay=1.0)).max() > 1e-3
