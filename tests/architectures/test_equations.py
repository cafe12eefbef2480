"""Networks against their papers' equations by other means, and what each carries in its state."""

import numpy as np
import pytest
import torch
from architectures import by_hand
from harness import (
    HIDDEN,
    N_IN,
    begun,
    built,
    distance,
    networks,
    one,
    stream,
    trajectory,
    watch,
)

from orla import catalogue
from orla.architectures.elementwise import ElementWise

STEPS = 24
# Name of the network, by hand, its options, and what makes other equations of it.
CASES = [
    *((kind, by_hand.torch_cell, {}, [{"turn": 1}]) for kind in ("rnn", "lstm", "gru")),
    ("ctrnn", by_hand.euler, {"dt_over_tau": 0.7}, [{"less": 0.01}]),
    ("ctrnn", by_hand.euler, {"dt_over_tau": 1.0}, [{"less": 0.01}]),
    *(
        ("block_gru", by_hand.block_gru, {"hidden": 12, "units": 4} | options, wrong)
        for options, wrong in (
            ({"blocks": 1, "mlp": 0}, [{"gates": ("cand", "reset", "update")}]),
            ({"blocks": 3, "mlp": 2}, [{"eps": 1e-2}, {"bias": 0.0}]),
            ({"blocks": 12, "mlp": 1}, []),
        )
    ),
    ("slstm", by_hand.slstm, {}, [{"forget": "exponential"}]),
    ("slstm", by_hand.slstm, {"forget": "exponential"}, [{"forget": "sigmoid"}]),
    ("rwkv", by_hand.rwkv, {}, [{"first_bonus": False}]),
    ("rwkv", by_hand.rwkv, {"running_maximum": False}, []),
    *(
        ("retnet", by_hand.retnet, options, [{"decay": 1.0}])
        for options in (
            {"hidden": 6, "heads": 3},
            {"hidden": 6, "heads": 2, "keys": 5},
            {"keys": 4, "rotation": True},
            {"hidden": 8, "heads": 2, "rotation": True},
        )
    ),
    ("s4", by_hand.s4, {"modes": 3, "dt_min": 0.3, "dt_max": 1.0}, [{"other": "bilinear"}]),
    (
        "s4",
        by_hand.s4,
        {"modes": 3, "dt_min": 0.3, "dt_max": 1.0, "discretisation": "bilinear"},
        [{"other": "zoh"}],
    ),
    ("lru", by_hand.lru, {}, [{"gain": 1.01}]),
    ("transformer", by_hand.transformer, {"hidden": 6, "context": 4, "heads": 3, "layers": 1}, []),
    (
        "transformer",
        by_hand.transformer,
        {"hidden": 6, "context": 4, "heads": 3, "layers": 2},
        [{"heads": 2}, {"causal": False}, {"placed": 0.0}],
    ),
    ("transformer", by_hand.transformer, {"heads": 1, "context": 1, "layers": 3}, []),
]


@pytest.mark.parametrize(("kind", "theirs", "options", "wrong"), CASES)
def test_it_is_its_equations_and_no_others(kind, theirs, options, wrong):
    network, X = built(kind, **options), stream(STEPS)[0]
    params = begun(network)
    states = trajectory(network, params, X)
    assert states.shape == (STEPS, network.state_size)
    ours = states[:, : network.hidden].numpy()
    if isinstance(network, ElementWise):
        ours = torch.stack([network.readout(params, state) for state in states]).numpy()
    np.testing.assert_allclose(ours, theirs(network, params, X), rtol=1e-9, atol=1e-11)
    assert np.abs(np.diff(ours, axis=0)).max() > 0.1
    for other in wrong:
        assert np.abs(ours - np.asarray(theirs(network, params, X, **other))).max() > 1e-3


def exponents(network, scale):
    """Parameters whose exponents are so many times as large."""
    params = one(network)
    if network.part.name == "rwkv":
        return params | {"W_k": scale * params["W_k"]}
    rows = torch.ones_like(params["b_h"])
    rows[: 2 * HIDDEN] = scale  # input and forget gates
    return params | {"W_ih": rows[:, None] * params["W_ih"]}


@pytest.mark.parametrize(
    ("kind", "options", "scale"),
    [("slstm", {}, 1e3), ("slstm", {"forget": "exponential"}, 1e3), ("rwkv", {}, 2e4)],
)
def test_slstm_and_rwkv_are_means_over_the_past_where_exponentials_overflow(kind, options, scale):
    network, X = built(kind, **options), stream(STEPS)[0]
    params = exponents(network, scale)
    states = trajectory(network, params, X)
    theirs = getattr(by_hand, kind)(network, params, X)
    np.testing.assert_allclose(states[:, :HIDDEN], theirs, rtol=1e-7, atol=1e-9)
    assert states[:, -HIDDEN:].exp().isinf().any()  # of the exponents that are taken out
    if kind == "slstm":
        assert (states[:, 2 * HIDDEN : 3 * HIDDEN] >= 1.0).all()  # the normaliser


@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_a_factor_of_all_input_gates_of_an_slstm_changes_nothing(shift):
    network, X = built("slstm"), stream(STEPS)[0]
    params = one(network)
    shifted = params | {"b_h": params["b_h"].clone()}
    shifted["b_h"][:HIDDEN] += shift
    ours, theirs = (trajectory(network, p, X)[:, :HIDDEN] for p in (params, shifted))
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("running_maximum", "dtype", "finite"),
    [(True, torch.float32, True), (False, torch.float32, False), (False, torch.float64, True)],
)
def test_rwkv_in_single_precision_overflows_without_the_running_maximum(
    running_maximum, dtype, finite
):
    """At exponents between those whose exp is finite in float32 (88) and in float64 (709)."""
    network, X = built("rwkv", running_maximum=running_maximum), stream(STEPS)[0]
    params = exponents(network, 300.0)
    assert 89 < trajectory(built("rwkv"), params, X)[:, 4 * HIDDEN :].max() < 700
    cast = {name: value.to(dtype) for name, value in params.items()}
    found = trajectory(network, cast, X.to(dtype))[:, :HIDDEN].numpy()
    assert np.isfinite(found).all() == finite
    if finite:
        expected = by_hand.rwkv(network, params, X)
        np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-2)


def test_a_transformers_state_holds_the_last_inputs_and_which_there_are():
    network, X = built("transformer", hidden=6, context=4, heads=3), stream(7)[0]
    params = begun(network)
    found = trajectory(network, params, X)
    for t, state in enumerate(found):
        _, filled, window = state.split([6, 4, 4 * N_IN])
        there = min(t + 1, 4)
        assert filled.tolist() == [0.0] * (4 - there) + [1.0] * there
        assert torch.equal(window.view(4, N_IN)[-there:], X[t + 1 - there : t + 1])
    # What came before the window is forgotten.
    for first, alike in ((3, True), (4, False)):
        other = X.clone()
        other[:first] = 9.0
        assert torch.equal(trajectory(network, params, other)[-1], found[-1]) == alike


def test_a_transformers_immediate_gradient_is_the_full_one():
    network, (X, Y) = built("transformer", heads=1, context=3, layers=1), stream(10)
    full, immediate, trace = (
        watch(catalogue.make("learner", name, architecture=network), networks(network), X, Y)
        for name in ("rtrl", "immediate", "trace")
    )
    assert distance(full.model(0)[0], immediate.model(0)[0]) < 1e-12
    assert distance(full.model(0)[0], trace.model(0)[0]) > 0.1
