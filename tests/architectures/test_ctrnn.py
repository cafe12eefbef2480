"""The CTRNN against Euler's method in NumPy, and against the vanilla RNN."""

import functools

import numpy as np
import pytest
import torch
from harness import HIDDEN, N_IN, built, one, stream, trajectory

from orla.errors import OrlaError

network = functools.partial(built, "ctrnn")


def states(made):
    params = one(made)
    return params, trajectory(made, params, stream(40)[0]).numpy()


@pytest.mark.parametrize("share", [0.1, 0.7])
def test_it_is_eulers_method(share):
    params, ours = states(network(dt_over_tau=share))
    p, h, tau = {n: v.numpy() for n, v in params.items()}, np.zeros(HIDDEN), 0.02
    for x, state in zip(stream(40)[0].numpy(), ours, strict=True):
        slope = (-h + np.tanh(p["W_ih"] @ x + p["W_hh"] @ h + p["b_h"])) / tau
        h = h + share * tau * slope
        np.testing.assert_allclose(state, h, rtol=1e-12, atol=1e-14)
    assert np.abs(ours).max() > 0.1
    other = states(network(dt_over_tau=share + 0.01))[1]
    assert np.abs(ours - other).max() > 1e-3


def test_with_a_step_as_long_as_its_time_constant_it_is_the_vanilla_rnn():
    params, ours = states(network(dt_over_tau=1))
    cell = torch.nn.RNNCell(N_IN, HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        for theirs, name in ((cell.weight_ih, "W_ih"), (cell.weight_hh, "W_hh")):
            theirs.copy_(params[name])
        cell.bias_ih.copy_(params["b_h"])
        cell.bias_hh.zero_()
        h = torch.zeros(1, HIDDEN, dtype=torch.float64)
        for x, state in zip(stream(40)[0], ours, strict=True):
            h = cell(x[None], h)
            np.testing.assert_allclose(state, h[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_step_that_cannot_be_is_refused(share):
    with pytest.raises(OrlaError, match='"dt_over_tau" must be'):
        network(dt_over_tau=share)
