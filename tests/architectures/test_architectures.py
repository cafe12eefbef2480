"""Networks against the oracles and against what they say of themselves."""

from dataclasses import dataclass

import pytest
import torch
from harness import (
    HIDDEN,
    N_IN,
    N_OUT,
    NETWORKS,
    Normalised,
    SometimesNormalised,
    built,
    linear_readout,
    make_network,
    one,
    specified,
    stream,
    trajectory,
)

from orla import catalogue
from orla.architectures.base import LinearGates, column_major
from orla.architectures.elementwise import ElementWise
from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.architectures.state_space import LRU
from orla.errors import OrlaError


@pytest.mark.parametrize("kind", NETWORKS)
def test_it_is_the_oracles_network(kind):
    network, step = NETWORKS[kind]
    params, (X, _) = one(network), stream(3)
    state = network.initial_state(params)
    assert state.shape == (network.state_size,) and not state.any()
    for x in X:
        state, theirs = network.step(params, state, x), step(params, state, x)
        torch.testing.assert_close(state, theirs, rtol=1e-12, atol=1e-14)
    if linear_readout(network):
        output = params["W_out"] @ state[:HIDDEN] + params["b_out"]
        torch.testing.assert_close(network.readout(params, state), output, rtol=1e-12, atol=1e-14)


def test_rnn_and_lstm_have_the_papers_parameter_counts():
    assert RNN(hidden=64, n_in=40, n_out=2).parameter_count() == 6850
    assert LSTM(hidden=64, n_in=40, n_out=2).parameter_count() == 4 * (2560 + 4096 + 64) + 130


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("rnn", {"hidden": 0}, '"hidden"'),
        ("ctrnn", {"dt_over_tau": 0.0}, '"dt_over_tau" must be'),
        ("ctrnn", {"dt_over_tau": 1.5}, '"dt_over_tau" must be'),
        ("spectral_rnn", {"condition": 0.5}, '"condition" must be at least 1'),
        ("spectral_rnn", {"largest": -1}, '"largest" must be at least 0'),
        ("singular_rnn", {"condition": 0.5}, '"condition" must be at least 1'),
        ("low_rank_rnn", {"rank": 6}, '"rank" is 6 and W_hh has 5 rows; give at most "hidden"'),
        ("low_rank_rnn", {"rank": 0}, '"rank" must be at least 1'),
        ("block_gru", {"hidden": 12, "blocks": 5}, "12 hidden units are no whole number of 5 blo"),
        ("transformer", {"hidden": 6, "heads": 4}, "6 hidden units are no whole number of 4 heads"),
        ("retnet", {"hidden": 5, "heads": 2}, "give a multiple of the heads"),
        ("retnet", {"hidden": 3, "heads": 3}, "a head needs two units or more"),
        ("retnet", {"hidden": 5, "rotation": True}, 'give an even number of "keys"'),
        ("s4", {"dt_min": 0.2, "dt_max": 0.1}, "exchange them"),
        ("lru", {"r_min": 0.9, "r_max": 0.5}, "r_min below r_max"),
    ],
)
def test_options_that_cannot_be_are_refused(kind, options, words):
    with pytest.raises(OrlaError, match=words):
        built(kind, **options)


LINEAR = [
    kind for kind, part in catalogue.parts("architecture").items() if issubclass(part, LinearGates)
]


PULLED = [(kind, hidden, {}) for kind in LINEAR for hidden in (1, 5)]


@pytest.mark.parametrize(
    ("kind", "hidden", "options"), [*PULLED, ("slstm", 5, {"forget": "exponential"})]
)
def test_pulling_back_is_autograd_through_activate(kind, hidden, options):
    network = built(**specified(kind, hidden) | options)
    draw = torch.Generator().manual_seed(3)
    preactivation, state, cotangent = (
        torch.randn(size, generator=draw, dtype=torch.float64)
        for size in (network.preactivation_size, network.state_size, network.state_size)
    )
    after, cache = network.activate(preactivation, state)
    assert after.shape == state.shape
    _, pull = torch.func.vjp(lambda *given: network.activate(*given)[0], preactivation, state)
    torch.testing.assert_close(network.pull(cache, cotangent), pull(cotangent))
    rows = torch.stack([cotangent, -2 * cotangent])
    for ours, two in zip(network.pull(cache, rows), pull(cotangent), strict=True):
        torch.testing.assert_close(ours, torch.stack([two, -2 * two]))


def units_meet(network):
    """Whether, at random states, a unit's next state answers to another's number in `activate`."""
    draw, n = torch.Generator().manual_seed(0), network.hidden
    for _ in range(20):
        preactivation, state = (
            torch.randn(size, generator=draw, dtype=torch.float64)
            for size in (network.preactivation_size, network.state_size)
        )
        jacobians = torch.func.jacrev(lambda *given: network.activate(*given)[0], (0, 1))
        for jacobian in jacobians(preactivation, state):
            blocks = jacobian.unflatten(0, (-1, n)).unflatten(2, (-1, n))
            alone = torch.eye(n, dtype=torch.bool)[None, :, None]
            if (blocks.masked_fill(alone, 0.0) != 0).any():
                return True
    return False


@pytest.mark.parametrize("kind", LINEAR)
def test_units_that_are_called_independent_are(kind):
    network = make_network(kind)
    if network.units_independent:
        assert not units_meet(network)
        draw = torch.Generator().manual_seed(1)
        preactivation, state, cotangent = (
            torch.randn(size, generator=draw, dtype=torch.float64)
            for size in (network.preactivation_size, network.state_size, network.state_size)
        )
        _, cache = network.activate(preactivation, state)
        by_unit = cotangent.view(-1, 1, network.hidden)
        pairs = zip(network.pull(cache, cotangent), network.unit_jacobian(cache), strict=True)
        for pulled, jacobian in pairs:
            alone = (jacobian.unflatten(1, (-1, network.hidden)) * by_unit).sum(0).flatten()
            torch.testing.assert_close(pulled, alone, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("wrong", [Normalised, SometimesNormalised])
def test_a_network_that_falsely_declares_independent_units_is_noticed(wrong):
    assert wrong(HIDDEN, N_IN, N_OUT).units_independent and units_meet(wrong(HIDDEN, N_IN, N_OUT))


def test_matrices_are_column_major_in_memory_and_parameters_in_their_order():
    shapes = {"W": (2, 3, 4), "W_of_blocks": (2, 5, 3, 4), "b": (2, 3)}
    params = {name: torch.randn(shape) for name, shape in reversed(shapes.items())}
    laid_out = column_major(params)
    assert list(laid_out) == list(shapes)
    for name, p in laid_out.items():
        assert torch.equal(p, params[name])
        assert (p if name == "b" else p.mT).is_contiguous()


ELEMENTWISE = {
    name: network for name, (network, _) in NETWORKS.items() if isinstance(network, ElementWise)
}


def is_elementwise_as_declared(network):
    """Whether the next state answers to the past and to parameters as `ElementWise` says."""
    params, (X, _) = one(network), stream(4)
    state = trajectory(network, params, X[:3])[-1]
    by_params, by_state = torch.func.jacrev(network.step, (0, 1))(params, state, X[3])
    n, unit = network.complex_count, torch.arange(network.complex_count) // network.complex_per_unit
    real, imaginary = network.decay(params)
    block = torch.diag(real), torch.diag(imaginary)
    top = torch.cat([block[0], -block[1]], 1), torch.cat([block[1], block[0]], 1)
    expected = torch.zeros_like(by_state)
    expected[: 2 * n, : 2 * n] = torch.cat(top)
    if not torch.allclose(by_state, expected, rtol=1e-12, atol=1e-14):
        return False
    own = unit.repeat(2)[:, None] == torch.arange(network.hidden)
    for name in network.recurrent_shapes():
        by_rows = by_params[name][: 2 * n].reshape(2 * n, network.hidden, -1)
        if by_rows[~own].any() or not by_rows[own].any():
            return False
    return True


@dataclass(frozen=True)
class Shared(LRU):
    """One gain for all units, in a row of the first: another than is declared."""

    def drive(self, params, x):
        real, imaginary = super().drive(params, x)
        return real * params["gamma"][0], imaginary


@dataclass(frozen=True)
class Coupled(LRU):
    """Each number keeps some of its neighbour's: another than is declared."""

    def step(self, params, state, x):
        return super().step(params, state, x) + 0.1 * state.roll(1)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_jacobians_are_the_decay_and_unit_local_parameters(name):
    assert is_elementwise_as_declared(ELEMENTWISE[name])


@pytest.mark.parametrize("wrong", [Shared, Coupled])
def test_the_check_of_elementwise_recurrence_fails_a_false_declaration(wrong):
    assert is_elementwise_as_declared(LRU(HIDDEN, N_IN, N_OUT))
    assert not is_elementwise_as_declared(wrong(HIDDEN, N_IN, N_OUT))
