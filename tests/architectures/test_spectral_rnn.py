"""How the spectral RNN begins, by NumPy; what it is from there on, by the vanilla RNN."""

import functools

import numpy as np
import pytest
import torch
from harness import N_IN, N_OUT, built

from orla.architectures.rnn import RNN
from orla.architectures.spectral_rnn import orthogonal
from orla.study.batches import initial_parameters

network = functools.partial(built, "spectral_rnn")


def first(made, seed=0):
    """W_hh of a seed, and its singular values by NumPy."""
    W_hh = initial_parameters(made, [seed], torch.float64)["W_hh"][0].numpy()
    return W_hh, np.linalg.svd(W_hh, compute_uv=False)


@pytest.mark.parametrize("condition", [1, 5, 50, 5000, 1e5])
def test_its_singular_values_follow_a_power_law(condition):
    _, s = first(network(64, condition=condition))
    assert s[0] / s[-1] == pytest.approx(condition, rel=1e-8)
    k, power = np.arange(1, 65), np.log(condition) / np.log(64)
    np.testing.assert_allclose(s / s[0], k**-power, rtol=1e-8)
    assert np.sqrt((s**2).sum()) == pytest.approx(np.sqrt(64 / 3), rel=1e-12)


def test_its_norm_is_that_of_the_vanilla_networks_on_average():
    squares = [
        (initial_parameters(RNN(64, 3, 2), [seed], torch.float64)["W_hh"] ** 2).sum()
        for seed in range(20)
    ]
    assert (first(network(64))[1] ** 2).sum() == pytest.approx(np.mean(squares), rel=0.01)


def test_the_largest_singular_value_may_be_given():
    _, s = first(network(64, condition=50, largest=0.9))
    assert s[0] == pytest.approx(0.9, rel=1e-12) and s[-1] == pytest.approx(0.9 / 50, rel=1e-8)
    alone, _ = first(network(hidden=1, condition=50, largest=0.9))
    assert abs(alone.item()) == pytest.approx(0.9, rel=1e-12)


def test_all_else_begins_as_the_vanilla_network_of_the_seed():
    ours = initial_parameters(network(64), [0, 1], torch.float64)
    theirs = initial_parameters(RNN(64, N_IN, N_OUT), [0, 1], torch.float64)
    assert list(ours) == list(theirs)
    for name, p in theirs.items():
        assert torch.equal(ours[name], p) == (name != "W_hh")
    assert not torch.allclose(ours["W_hh"][0], ours["W_hh"][1])


def test_bases_are_orthogonal_and_uniform():
    draw = torch.Generator().manual_seed(0)
    many = torch.stack([orthogonal(3, draw) for _ in range(2000)])
    eye = torch.eye(3, dtype=torch.float64).expand(2000, 3, 3)
    torch.testing.assert_close(many @ many.transpose(1, 2), eye)
    # Every entry has the mean 0 and the variance 1/3; without their signs, a QR's have not.
    torch.testing.assert_close(many.mean(0), torch.zeros_like(eye[0]), rtol=0, atol=0.05)
    torch.testing.assert_close(many.var(0), torch.full_like(eye[0], 1 / 3), rtol=0, atol=0.03)
    # U and V are two: of one and the same, W_hh would be symmetric.
    W_hh, s = first(network(64, condition=1))
    assert np.abs(W_hh - W_hh.T).max() > 0.1
    np.testing.assert_allclose(W_hh @ W_hh.T, s[0] ** 2 * np.eye(64), atol=1e-12)
