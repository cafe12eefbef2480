"""Forward runs against the oracle's network."""

import oracles
import pytest
import torch
from harness import NETWORKS, in_full, linear_readout, networks, stream

from orla.engine import forward


@pytest.mark.parametrize(
    ("kind", "steps"), [*((kind, 23) for kind in NETWORKS), *(("rnn", n) for n in (200, 211))]
)
def test_a_frozen_run_is_the_networks_forward_pass(kind, steps):
    architecture, step = NETWORKS[kind]
    params, (X, _) = networks(architecture, models=2), stream(steps)
    ran = forward.outputs_of(architecture, params, None, {"x": X})
    assert ran.shape == (2, steps, 2)
    for model in range(2):
        own = {name: p[model] for name, p in params.items()}
        start = torch.zeros(architecture.state_size, dtype=torch.float64)
        visited = torch.stack(oracles.states(step, start, [own] * steps, X)[1:])
        if linear_readout(architecture):
            outputs = visited[:, : architecture.hidden] @ own["W_out"].T + own["b_out"]
        else:
            outputs = torch.stack([architecture.readout(own, state) for state in visited])
        torch.testing.assert_close(ran[model], outputs, rtol=1e-9, atol=1e-11)


def test_a_run_goes_on_from_a_state():
    architecture, step = NETWORKS["lstm"]
    params, (X, _) = networks(architecture, models=1), stream(230)
    whole = forward.outputs_of(architecture, params, None, {"x": X})
    own = {name: p[0] for name, p in params.items()}
    start = torch.zeros(architecture.state_size, dtype=torch.float64)
    state = oracles.states(step, start, [own] * 210, X[:210])[-1]
    second = forward.outputs_of(architecture, params, state[None], {"x": X[210:]})
    torch.testing.assert_close(whole[:, 210:], second, rtol=1e-9, atol=1e-11)
    again = forward.outputs_of(architecture, params, None, {"x": X[210:]})
    assert not torch.allclose(again[:, 0], second[:, 0])


@pytest.mark.parametrize("kind", in_full([(k,) for k in NETWORKS], [("lstm",)]))
def test_trials_start_afresh_and_models_may_have_streams_of_their_own(kind):
    architecture, _ = NETWORKS[kind]
    params = networks(architecture)
    X = torch.stack([stream(30, seed)[0] for seed in (0, 1)], 1)
    starts = torch.zeros(30, 2, dtype=torch.bool)
    starts[7, 0] = starts[20, 1] = True
    outputs = forward.outputs_of(architecture, params, None, {"x": X, "starts": starts})
    for model, start in ((0, 7), (1, 20)):
        own = {name: p[model : model + 1] for name, p in params.items()}
        pieces = [
            forward.outputs_of(architecture, own, None, {"x": X[part, model].contiguous()})
            for part in (slice(0, start), slice(start, None))
        ]
        torch.testing.assert_close(outputs[model], torch.cat(pieces, 1)[0], rtol=1e-12, atol=1e-14)
    through = forward.outputs_of(architecture, params, None, {"x": X})
    assert not torch.allclose(through[0, 7], outputs[0, 7])
    assert torch.equal(through[0, :7], outputs[0, :7])
