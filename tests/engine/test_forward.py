"""Forward runs against the oracle's network."""

import oracles
import pytest
import torch
from harness import NETWORKS, networks, stream

from orla.engine import forward


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("steps", [3, 200, 411])
def test_a_frozen_run_is_the_networks_forward_pass(kind, steps):
    architecture, step = NETWORKS[kind]
    params, (X, _) = networks(architecture, models=2), stream(steps)
    ran = forward.run(architecture, params, None, {"x": X})
    assert ran.outputs.shape == (2, steps, 2)
    for model in range(2):
        own = {name: p[model] for name, p in params.items()}
        start = torch.zeros(architecture.state_size, dtype=torch.float64)
        visited = torch.stack(oracles.states(step, start, [own] * steps, X)[1:])
        outputs = visited[:, : architecture.hidden] @ own["W_out"].T + own["b_out"]
        torch.testing.assert_close(ran.outputs[model], outputs, rtol=1e-9, atol=1e-11)
        if steps % forward.SEGMENT == 0:
            torch.testing.assert_close(ran.state[model], visited[-1], rtol=1e-9, atol=1e-11)
    assert (ran.state is None) == bool(steps % forward.SEGMENT)


def test_a_run_goes_on_from_a_state():
    architecture, _ = NETWORKS["lstm"]
    params, (X, _) = networks(architecture), stream(450)
    whole = forward.run(architecture, params, None, {"x": X})
    first = forward.run(architecture, params, None, {"x": X[:200]})
    second = forward.run(architecture, params, first.state, {"x": X[200:]})
    assert torch.equal(whole.outputs[:, 200:], second.outputs)
    again = forward.run(architecture, params, None, {"x": X[200:]})
    assert not torch.equal(again.outputs, second.outputs)


@pytest.mark.parametrize("kind", NETWORKS)
def test_trials_start_afresh_and_models_may_have_streams_of_their_own(kind):
    architecture, _ = NETWORKS[kind]
    params = networks(architecture)
    X = torch.stack([stream(30, seed)[0] for seed in (0, 1)], 1)
    starts = torch.zeros(30, 2, dtype=torch.bool)
    starts[7, 0] = starts[20, 1] = True
    outputs = forward.run(architecture, params, None, {"x": X, "starts": starts}).outputs
    for model, start in ((0, 7), (1, 20)):
        own = {name: p[model : model + 1] for name, p in params.items()}
        pieces = [
            forward.run(architecture, own, None, {"x": X[part, model].contiguous()}).outputs
            for part in (slice(0, start), slice(start, None))
        ]
        torch.testing.assert_close(outputs[model], torch.cat(pieces, 1)[0], rtol=1e-12, atol=1e-14)
    through = forward.run(architecture, params, None, {"x": X}).outputs
    assert not torch.allclose(through[0, 7], outputs[0, 7])
    assert torch.equal(through[0, :7], outputs[0, :7])
