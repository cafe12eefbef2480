"""Stacks against torch's cells on top of each other."""

from dataclasses import dataclass, replace

import pytest
import torch
from architectures import by_hand
from harness import N_IN, N_OUT, built, one, stream, trajectory

from orla import catalogue
from orla.architectures.rnn import RNN
from orla.architectures.stack import Stack
from orla.errors import OrlaError
from orla.programs import packages
from orla.reports.words import PartNames

HIDDEN = 4
MIXED = ["rnn", {"kind": "lstm", "hidden": 3}, {"kind": "gru"}]


def stack(layers, **options):
    return built("stack", **{"hidden": HIDDEN, "layers": layers} | options)


def test_mixed_layers_are_torchs_cells_on_top_of_each_other():
    made, X = stack(MIXED), stream(40)[0]
    params = one(made, 1)
    x, states = X, []
    for k, layer in enumerate(made.layers):
        own = made.by_layer(params)[k]
        states.append(trajectory(layer, own | {"W_out": params["W_out"]}, x))
        x = by_hand.torch_cell(layer, own, x)
        torch.testing.assert_close(states[-1][:, : layer.hidden], x, rtol=1e-12, atol=1e-14)
    found = trajectory(made, params, X)
    torch.testing.assert_close(found, torch.cat(states[::-1], 1), rtol=1e-12, atol=1e-14)
    assert made.layers == (
        RNN(HIDDEN, N_IN, N_OUT),
        catalogue.make("architecture", {"kind": "lstm", "hidden": 3}, n_in=HIDDEN, n_out=N_OUT),
        catalogue.make("architecture", {"kind": "gru", "hidden": HIDDEN}, n_in=3, n_out=N_OUT),
    )
    assert made.parameter_count() == sum(p.numel() for p in params.values())


def test_a_stack_of_one_is_its_layer_and_stacks_may_stand_in_stacks():
    alone, X = RNN(HIDDEN, N_IN, N_OUT), stream(10)[0]
    made = stack(["rnn"])
    drawn, same = (n.init(torch.Generator().manual_seed(3)) for n in (made, alone))
    assert [name.removesuffix(".0") for name in drawn] == list(same)
    for (name, p), q in zip(drawn.items(), same.values(), strict=True):
        assert torch.equal(p, q), name
    inner = {"kind": "stack", "layers": ["rnn", "lstm"]}
    nested, flat = stack([inner, "rnn"]), stack(["rnn", "lstm", "rnn"])
    params = nested.init(torch.Generator().manual_seed(3))
    assert list(params)[:2] == ["W_ih.0.0", "W_hh.0.0"]
    renamed = dict(zip(flat.shapes(), params.values(), strict=True))
    ours, theirs = trajectory(nested, params, X), trajectory(flat, renamed, X)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    assert not torch.allclose(ours[-1, :HIDDEN], ours[-1, -HIDDEN:])


def test_each_layer_begins_as_it_draws_itself():
    """Within 1/sqrt of its own units, and scales of 1 where it has them."""
    made = stack(
        [{"kind": "rnn", "hidden": 100}, {"kind": "block_gru", "blocks": 2}, "rnn"], hidden=4
    )
    params = made.init(torch.Generator().manual_seed(0))
    assert float(params["W_hh.0"].abs().max()) <= 0.1 < float(params["W_hh.2"].abs().max())
    assert (params["scale_h.1"] == 1).all() and list(params) == list(made.shapes())


@dataclass(frozen=True)
class Begun(RNN):
    """Starts anywhere but at zero."""

    def initial_state(self, params):
        return params["b_h"] + params["b_out"].sum()


def test_the_initial_state_joins_the_initial_states_of_the_layers():
    made = Stack(HIDDEN, N_IN, N_OUT, layers=(RNN(HIDDEN), Begun(HIDDEN)))
    params = one(made, 1)
    begun = params["b_h.1"] + params["b_out"].sum()
    assert torch.equal(made.initial_state(params), torch.cat([begun, torch.zeros_like(begun)]))


@dataclass(frozen=True)
class Squared(RNN):
    def readout(self, params, state):
        return params["W_out"] @ state**2 + params["b_out"]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], '"layers" must have at least 1 entries'),
        ("rnn", '"layers" must be a list, not "rnn"'),
        (["rnn", "rn"], "stack: layers[1]: architecture 'rn' is unknown; the nearest is \"rnn\""),
        ([{"kind": "rnn", "hiden": 3}], 'stack: layers[0]: architecture rnn: "hiden" is not a'),
        (["rnn", {"kind": "lstm", "hidden": 3}], "the top layer has 3 hidden units and the stack"),
        ([{"kind": "stack", "layers": ["rn"]}], "stack: layers[0]: stack: layers[0]: architecture"),
    ],
)
def test_invalid_layers_are_refused_by_position(layers, message):
    with pytest.raises(OrlaError) as refused:
        stack(layers)
    assert message in str(refused.value)


@pytest.mark.parametrize("layers", [(Squared(HIDDEN), RNN(HIDDEN)), (RNN(HIDDEN), Squared(HIDDEN))])
def test_a_layer_with_a_readout_of_its_own_is_refused(layers):
    with pytest.raises(OrlaError, match="Squared has a readout of its own"):
        Stack(HIDDEN, N_IN, N_OUT, layers=layers)


def test_equality_cache_path_and_report_name_follow_from_the_layers():
    """For reports, for programs that are kept by what they are made of, and as a key."""
    made, same, other = stack(MIXED), stack(MIXED), stack(["rnn", "lstm", "gru"])
    assert made == same and hash(made) == hash(same) and made != other
    wider = replace(made, n_in=7)
    assert [layer.n_in for layer in wider.layers] == [7, HIDDEN, 3] and wider != made
    paths = [
        packages.program_cache_path("a step", (), [network])
        for network in (made, same, other, wider)
    ]
    assert paths[0] == paths[1] is not None and len(set(paths)) == 3
    named = {"architecture": {"deep": {"kind": "stack", "hidden": HIDDEN, "layers": MIXED}}}
    told = "stack RNN + LSTM (hidden 3) + GRU, hidden 4"
    assert PartNames(instances=named).called("architecture", "deep") == told
    assert PartNames().called("architecture", "stack") == "stack"
