"""The CTRNN against Euler's method in NumPy; of a step as long as tau it is the vanilla RNN."""

import functools

import numpy as np
import pytest
from harness import HIDDEN, built, one, stream, trajectory

network = functools.partial(built, "ctrnn")


def states(made):
    params = one(made)
    return params, trajectory(made, params, stream(40)[0]).numpy()


@pytest.mark.parametrize("share", [0.1, 0.7, 1.0])
def test_it_is_eulers_method(share):
    params, ours = states(network(dt_over_tau=share))
    p, h, tau = {n: v.numpy() for n, v in params.items()}, np.zeros(HIDDEN), 0.02
    for x, state in zip(stream(40)[0].numpy(), ours, strict=True):
        slope = (-h + np.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])) / tau
        h = h + share * tau * slope
        np.testing.assert_allclose(state, h, rtol=1e-12, atol=1e-14)
    assert np.abs(ours).max() > 0.1
    other = states(network(dt_over_tau=share - 0.01))[1]
    assert np.abs(ours - other).max() > 1e-3
