"""The RNN of fixed bases: its gradient by the chain rule, and bases that keep their bits."""

import functools

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    SQUARED_ERROR,
    adapt,
    built,
    distance,
    make_learner,
    make_optimizer,
    networks,
    stream,
    watch,
)

from orla import catalogue
from orla.architectures.rnn import RNN
from orla.engine.loop import Loop
from orla.errors import OrlaError
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


@pytest.mark.parametrize("learner", ["immediate", {"kind": "rtrl", "block": 5}, "tbptt-8-4"])
def test_the_gradient_of_a_singular_value_is_that_of_the_matrix_along_its_vectors(learner):
    """dL/ds_k = u_k^T G v_k, with G the gradient of W_hh of a vanilla network."""
    made = network()
    params, (X, Y) = networks(made), stream(24)
    U, V = params["U_hh"], params["V_hh"]
    whole = {n: p for n, p in params.items() if n not in ("U_hh", "V_hh", "s_hh")}
    whole["W_hh"] = U @ torch.diag_embed(params["s_hh"]) @ V.transpose(1, 2)
    ours, theirs = (
        watch(catalogue.make("learner", learner, architecture=a), given, X, Y).model(1)[0]
        for a, given in ((made, params), (RNN(HIDDEN, N_IN, N_OUT), whole))
    )
    chained, swapped = [], []
    for gradient in theirs:
        G = gradient.pop("W_hh")
        none = {"U_hh": torch.zeros_like(U[1]), "V_hh": torch.zeros_like(V[1])}
        chained.append(gradient | none | {"s_hh": (U[1].T @ G @ V[1]).diagonal()})
        swapped.append(gradient | none | {"s_hh": (V[1].T @ G @ U[1]).diagonal()})
    assert distance(ours, chained) < 1e-10 and distance(ours, swapped) > 1e-2
    assert all(not g[name].any() for g in ours for name in ("U_hh", "V_hh"))


@pytest.mark.parametrize("name", catalogue.parts("optimizer"))
def test_no_optimizer_changes_the_bases(name):
    made = network()
    loop = Loop(make_learner("rtrl", made), make_optimizer(name), SQUARED_ERROR, segment=24)
    params, (X, Y) = networks(made), stream(24)
    after = adapt(loop, params, params["W_out"].new_full((2,), 0.01), X, Y).state.params
    for name, p in params.items():
        assert torch.equal(after[name], p) == (name in ("U_hh", "V_hh"))


def test_what_cannot_be_is_refused():
    with pytest.raises(OrlaError, match='"condition" must be at least 1'):
        network(condition=0.5)
