"""The transformer against torch's own modules on the same window."""

import pytest
import torch
from harness import N_IN, begun, built, distance, networks, stream, trajectory, watch

from orla import catalogue

HIDDEN, CONTEXT = 6, 4


def network(**options):
    return built("transformer", **{"hidden": HIDDEN, "context": CONTEXT, "heads": 3} | options)


def encoder(made, params):
    layer = torch.nn.TransformerEncoderLayer(
        HIDDEN,
        made.heads,
        made.feedforward * HIDDEN,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=True,
        dtype=torch.float64,
    )
    last = torch.nn.LayerNorm(HIDDEN, dtype=torch.float64)
    found = torch.nn.TransformerEncoder(layer, made.layers, last, enable_nested_tensor=False)
    names = {
        "norm1.weight": "scale_1",
        "norm1.bias": "shift_1",
        "self_attn.in_proj_weight": "W_qkv",
        "self_attn.out_proj.weight": "W_o",
        "self_attn.out_proj.bias": "b_o",
        "norm2.weight": "scale_2",
        "norm2.bias": "shift_2",
        "linear1.weight": "W_1",
        "linear1.bias": "b_1",
        "linear2.weight": "W_2",
        "linear2.bias": "b_2",
    }
    weights = {
        f"layers.{k}.{theirs}": params[f"{ours}.{k}"]
        for k in range(made.layers)
        for theirs, ours in names.items()
    }
    for k in range(made.layers):
        b_q, b_v = params[f"b_qv.{k}"].chunk(2)
        key = 0.7 * torch.ones_like(b_q)  # any number: it cancels
        weights[f"layers.{k}.self_attn.in_proj_bias"] = torch.cat([b_q, key, b_v])
    found.load_state_dict(weights | {"norm.weight": params["scale"], "norm.bias": params["shift"]})
    return found.eval()


def by_torch(made, params, X, causal=True):
    """h after each step, from the last inputs alone."""
    whole, found = encoder(made, params), []
    for t in range(len(X)):
        window = X[max(0, t + 1 - made.context) : t + 1]
        tokens = window @ params["W_in"].T + params["b_in"] + params["position"][-len(window) :]
        mask = torch.nn.Transformer.generate_square_subsequent_mask(len(window)).double()
        with torch.no_grad():
            found.append(whole(tokens[None], mask=mask if causal else None)[0, -1])
    return torch.stack(found)


@pytest.mark.parametrize("options", [{}, {"layers": 1}, {"layers": 3, "heads": 1, "context": 1}])
def test_it_is_torchs_encoder_on_the_window(options):
    made, X = network(**options), stream(12)[0]
    params = begun(made)
    ours, theirs = trajectory(made, params, X)[:, :HIDDEN], by_torch(made, params, X)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    assert float(ours.diff(dim=0).abs().max()) > 0.1


@pytest.mark.parametrize("wrong", ["heads", "mask", "position"])
def test_another_is_noticed(wrong):
    made, X = network(layers=2), stream(12)[0]
    params = begun(made)
    theirs = {
        "heads": lambda: by_torch(network(layers=2, heads=2), params, X),
        "mask": lambda: by_torch(made, params, X, causal=False),
        "position": lambda: by_torch(made, params | {"position": 0 * params["position"]}, X),
    }[wrong]()
    assert float((trajectory(made, params, X)[:, :HIDDEN] - theirs).abs().max()) > 1e-3


def test_the_state_holds_the_last_inputs_and_which_there_are():
    made, X = network(), stream(7)[0]
    found = trajectory(made, begun(made), X)
    assert found.shape[1] == made.state_size
    for t, state in enumerate(found):
        _, filled, window = state.split([HIDDEN, CONTEXT, CONTEXT * N_IN])
        there = min(t + 1, CONTEXT)
        assert filled.tolist() == [0.0] * (CONTEXT - there) + [1.0] * there
        assert torch.equal(window.view(CONTEXT, N_IN)[-there:], X[t + 1 - there : t + 1])
    # What came before the window is forgotten.
    other = X.clone()
    other[: 7 - CONTEXT] = 9.0
    assert torch.equal(trajectory(made, begun(made), other)[-1], found[-1])
    other[7 - CONTEXT] = 9.0
    assert not torch.equal(trajectory(made, begun(made), other)[-1], found[-1])


def test_the_immediate_gradient_is_the_full_one():
    made, (X, Y) = network(context=3, layers=1), stream(10)
    params = networks(made)
    full, immediate, trace = (
        watch(catalogue.make("learner", name, architecture=made), params, X, Y, rate=0.05).model(0)
        for name in ("rtrl", "immediate", "trace")
    )
    assert distance(full[0], immediate[0]) < 1e-12
    assert distance(full[1], immediate[1]) < 1e-12
    assert distance(full[0], trace[0]) > 0.1


def test_parameters_begin_as_torchs_linear_layers():
    made = network(hidden=48, heads=4, feedforward=2)
    params = made.init(torch.Generator().manual_seed(0))
    for name, p in params.items():
        if p.dim() == 2:
            bound = p.shape[1] ** -0.5
            assert 0.9 * bound < float(p.abs().max()) <= bound, name
        elif name != "b_out":
            assert (p == float(name.startswith("scale"))).all(), name
