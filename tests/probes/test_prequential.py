"""Prequential accuracy: what a network answers at a step, before it learns from it."""

import numpy as np
import pytest
import torch

from orla import catalogue
from orla.engine.loop import loop_of
from orla.probes.prequential import Prequential, windows_to_skip
from orla.study.batches import initial_parameters

STEPS, WINDOW = 40, 10


@pytest.mark.parametrize("masked", [False, True])
def test_it_is_the_share_of_steps_that_were_right(masked):
    probe = {"kind": "prequential", "window": WINDOW, "skip": 0.3}
    job = {"network": {"kind": "rnn", "hidden": 4}, "learner": "immediate", "optimizer": "sgd"}
    loss = catalogue.make("loss", "cross_entropy")
    loop = loop_of(job | {"probes": [probe]}, 3, 4, loss, WINDOW)
    alone = loop_of(job, 3, 4, loss, 1)
    draws = torch.Generator().manual_seed(1)
    x = torch.randn(STEPS, 3, generator=draws, dtype=torch.float64)
    stream = {"x": x, "y": torch.randint(4, (STEPS,), generator=draws)}
    if masked:
        stream["scored"] = torch.arange(STEPS) % 3 != 0
    params = initial_parameters(loop.learner.architecture, range(2), torch.float64)
    rates = torch.tensor([0.0, 1.0], dtype=torch.float64)
    run = loop.run(loop.start(params), rates, stream)
    network, state, hits = loop.learner.architecture, alone.start(params), []
    for t in range(STEPS):  # a step at a time, predicted with the weights that stand before it
        models = [({n: p[m] for n, p in state.params.items()}, state.network[m]) for m in (0, 1)]
        outputs = [network.readout(p, network.step(p, h, x[t])) for p, h in models]
        hits.append([int(o.argmax()) == int(stream["y"][t]) for o in outputs])
        alone.run(state, rates, {name: m[t : t + 1] for name, m in stream.items()})
    hits, scored = np.array(hits).T, np.ones(STEPS, bool)
    if masked:
        scored = stream["scored"].numpy()
    expected = [100 * h[scored & (np.arange(STEPS) >= 20)].mean() for h in hits]
    [made] = loop.probes
    assert made.summary(run.series)["prequential_accuracy"] == pytest.approx(expected)
    windows = [
        [100 * hits[m, w][scored[w]].mean() for w in np.split(np.arange(40), 4)] for m in (0, 1)
    ]
    np.testing.assert_allclose(made.profile(run.series)["accuracy"], windows)
    assert expected[0] != expected[1]  # learning changes what is right


def test_the_skipped_share_rounds_up_to_whole_windows():
    assert [windows_to_skip(20, share) for share in (0, 0.1, 0.11)] == [0, 2, 3]
    none = {name: np.empty((2, 0)) for name in ("hits", "tested")}
    assert np.isnan(Prequential().summary(none)["prequential_accuracy"]).all()
