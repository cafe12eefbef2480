"""The CTRNN against Euler's method in NumPy, and against the vanilla RNN."""

import numpy as np
import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, networks, stream

from orla import catalogue
from orla.errors import OrlaError


def network(**options):
    return catalogue.make(
        "architecture", {"kind": "ctrnn", "hidden": HIDDEN, **options}, n_in=N_IN, n_out=N_OUT
    )


def states(made):
    params = {name: p[0] for name, p in networks(made).items()}
    found = [made.initial_state(params)]
    for x in stream(40)[0]:
        found.append(made.step(params, found[-1], x))
    return params, torch.stack(found).numpy()


@pytest.mark.parametrize("share", [0.1, 0.7])
def test_it_is_eulers_method(share):
    params, ours = states(network(dt_over_tau=share))
    p, h, tau = {n: v.numpy() for n, v in params.items()}, np.zeros(HIDDEN), 0.02
    for x, state in zip(stream(40)[0].numpy(), ours[1:], strict=True):
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
        for x, state in zip(stream(40)[0], ours[1:], strict=True):
            h = cell(x[None], h)
            np.testing.assert_allclose(state, h[0], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_a_step_that_cannot_be_is_refused(share):
    with pytest.raises(OrlaError, match='"dt_over_tau" must be'):
        network(dt_over_tau=share)
