"""Networks against torch.nn's cells and against their own description."""

import math

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
from orla.architectures.base import LinearGates, rows_along_memory
from orla.architectures.lstm import LSTM
from orla.architectures.rnn import RNN
from orla.errors import OrlaError
from orla.study.batches import initial_parameters


def cell_with(kind, params):
    cell = kind(N_IN, HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih.copy_(params["W_ih"])
        cell.weight_hh.copy_(params["W_hh"])
        cell.bias_ih.copy_(params["b_h"])
        cell.bias_hh.zero_()
    return cell


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_it_is_torchs_cell(kind):
    network, _ = NETWORKS[kind]
    params, (X, _) = one(network), stream(10)
    cell = cell_with({"rnn": torch.nn.RNNCell, "lstm": torch.nn.LSTMCell}[kind], params)
    theirs = None
    for x, ours in zip(X, trajectory(network, params, X), strict=True):
        theirs = cell(x[None], theirs)
        flat = torch.cat(theirs, -1) if kind == "lstm" else theirs
        torch.testing.assert_close(ours, flat[0].detach(), rtol=1e-12, atol=1e-14)
    assert float(ours.abs().max()) > 0.1


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


def test_the_papers_network_has_as_many_parameters_as_the_paper_counts():
    assert RNN(hidden=64, n_in=40, n_out=2).parameter_count() == 6850
    assert built("low_rank_rnn", rank=5).parameter_count() == 5 * 3 + 2 * 25 + 5 + 12
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


# Parameters that every seed starts with the same values of, as their papers say.
NOT_DRAWN = {
    "rwkv": {"mu_r", "mu_k", "mu_v", "decay", "bonus"},
    "s4": {"log_A_real", "A_imag"},
    "singular_rnn": {"s_hh"},
    "block_gru": {"b_he", "b_ih", "b_h", "b_g", "b_m.0"}
    | {"scale_he", "scale_ih", "scale_h", "scale_m.0"},
    "transformer": {"b_in", "b_qv.0", "b_o.0", "b_1.0", "b_2.0", "scale", "shift"}
    | {"scale_1.0", "shift_1.0", "scale_2.0", "shift_2.0"},
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_seed_is_the_same_network_in_each_precision_and_company(kind):
    network, _ = NETWORKS[kind]
    double = initial_parameters(network, [3], torch.float64)
    single = initial_parameters(network, [1, 3, 4], torch.float32)
    assert list(double) == list(network.shapes())
    for name, shape in network.shapes().items():
        assert double[name].shape == (1, *shape) and double[name].dtype == torch.float64
        assert torch.equal(double[name][0].float(), single[name][1])
        drawn = name not in NOT_DRAWN.get(kind, ())
        assert torch.equal(single[name][0], single[name][1]) != drawn


def test_initial_weights_fill_their_range():
    network = RNN(hidden=64, n_in=40, n_out=2)
    params = network.init(torch.Generator().manual_seed(0))
    for name in ("W_ih", "W_hh"):
        p = params[name] * math.sqrt(64)
        assert float(p.abs().max()) <= 1.0
        assert abs(float(p.mean())) < 0.05
        assert abs(float(p.var()) - 1 / 3) < 0.02


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
        for size in (network.gates, network.state_size, network.state_size)
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
            for size in (network.gates, network.state_size)
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
            for size in (network.gates, network.state_size, network.state_size)
        )
        _, cache = network.activate(preactivation, state)
        by_unit = cotangent.view(-1, 1, network.hidden)
        pairs = zip(network.pull(cache, cotangent), network.unit_jacobian(cache), strict=True)
        for pulled, jacobian in pairs:
            alone = (jacobian.unflatten(1, (-1, network.hidden)) * by_unit).sum(0).flatten()
            torch.testing.assert_close(pulled, alone, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("wrong", [Normalised, SometimesNormalised])
def test_a_wrong_yes_is_noticed(wrong):
    assert wrong(HIDDEN, N_IN, N_OUT).units_independent and units_meet(wrong(HIDDEN, N_IN, N_OUT))


def test_rows_of_every_matrix_are_innermost_in_memory():
    shapes = {"W": (2, 3, 4), "W_of_blocks": (2, 5, 3, 4), "b": (2, 3)}
    params = {name: torch.randn(shape) for name, shape in reversed(shapes.items())}
    laid_out = rows_along_memory(params)
    assert list(laid_out) == list(shapes)
    for name, p in laid_out.items():
        assert torch.equal(p, params[name])
        assert (p if name == "b" else p.mT).is_contiguous()
