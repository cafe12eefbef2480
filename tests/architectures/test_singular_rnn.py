"""The RNN of fixed bases: its gradient by the chain rule, and bases that keep their bits."""

import functools

import pytest
import torch
from harness import (
    SQUARED_ERROR,
    adapt,
    built,
    make_learner,
    make_optimizer,
    networks,
    stream,
)

from orla import catalogue
from orla.engine.loop import Loop
from orla.study.batches import initial_parameters

network = functools.partial(built, "singular_rnn")


@pytest.mark.parametrize("options", [{}, {"condition": 500.0, "largest": 0.9}])
def test_a_seed_begins_as_the_spectral_network_of_the_same_options(options):
    ours = initial_parameters(network(**options), [0, 1], torch.float64)
    theirs = initial_parameters(built("spectral_rnn", **options), [0, 1], torch.float64)
    U, s, V = ours.pop("U_hh"), ours.pop("s_hh"), ours.pop("V_hh")
    product = U @ torch.diag_embed(s) @ V.transpose(1, 2)
    torch.testing.assert_close(product, theirs.pop("W_hh"), rtol=1e-12, atol=1e-14)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], p) for name, p in theirs.items())
    other = initial_parameters(network(condition=7.0), [0], torch.float64)
    assert not torch.allclose(other["s_hh"][0], s[0]) and torch.equal(other["U_hh"][0], U[0])


@pytest.mark.parametrize("name", catalogue.parts("optimizer"))
def test_no_optimizer_changes_the_bases(name):
    made = network()
    loop = Loop(make_learner("rtrl", made), make_optimizer(name), SQUARED_ERROR, segment=24)
    params, (X, Y) = networks(made), stream(24)
    after = adapt(loop, params, params["W_out"].new_full((2,), 0.01), X, Y).state.params
    for name, p in params.items():
        assert torch.equal(after[name], p) == (name in ("U_hh", "V_hh"))
