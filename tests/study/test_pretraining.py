"""Early stopping, each network for itself, on a stream that can be learned."""

import numpy as np
import pytest
import torch
from harness import NETWORKS, SQUARED_ERROR

from orla.engine import forward
from orla.errors import OrlaError
from orla.study import pretraining
from orla.study.batches import initial_parameters
from orla.study.pretraining import Pretraining
from orla.tasks.stream import Stream

SETTINGS = Pretraining(learning_rate=0.01, window=20, max_epochs=6, patience=2)
RNN = NETWORKS["rnn"][0]


def pretrain(architecture, part, seeds, settings, **options):
    return pretraining.pretrain(architecture, part, seeds, settings, SQUARED_ERROR, **options)


@pytest.fixture(scope="module")
def part():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.5 * np.roll(X, 1, axis=0)[:, :2]
    return Stream(X, Y / Y.std(0))


@pytest.fixture(scope="module")
def pretrained(part):
    return pretrain(RNN, part, [0, 1, 2], SETTINGS)


def test_networks_learn(pretrained):
    params, curve = pretrained
    assert {name: tuple(p.shape[1:]) for name, p in params.items()} == RNN.shapes()
    assert list(curve) == ["seed", "epoch", "training_error", "validation_error", "best"]
    first = curve[curve.epoch == 0].set_index("seed").validation_error
    best = curve[curve.best].set_index("seed").validation_error
    assert (best < 0.7 * first).all()


def test_the_weights_are_those_of_the_best_epoch(part, pretrained):
    params, curve = pretrained
    best = curve[curve.best].sort_values("seed").validation_error.to_numpy()
    outputs = forward.run(RNN, params, None, {"x": torch.as_tensor(part.X)}).outputs.numpy()
    error = ((outputs[:, 800:] - part.Y[800:]) ** 2).mean((1, 2))
    # While training the state came from changing weights, whose trace is short.
    assert error == pytest.approx(best, rel=1e-2)


def test_a_network_does_not_depend_on_its_company(part, pretrained):
    params, curve = pretrained
    alone, own = pretrain(RNN, part, [1], SETTINGS)
    for name, p in params.items():
        torch.testing.assert_close(alone[name][0], p[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        own.validation_error, curve[curve.seed == 1].validation_error, rtol=1e-9
    )


def test_learning_never_sees_the_validation_share(part):
    one = Pretraining(learning_rate=0.01, window=20, max_epochs=1)
    changed = Stream(part.X.copy(), part.Y.copy())
    changed.Y[800:] += 1.0
    before, curve_before = pretrain(RNN, part, [0], one)
    after, curve_after = pretrain(RNN, changed, [0], one)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert curve_before.validation_error[0] != curve_after.validation_error[0]
    changed.Y[790] += 1.0
    third, _ = pretrain(RNN, changed, [0], one)
    assert not torch.equal(before["W_hh"], third["W_hh"])


def test_patience_ends_a_network_that_gets_no_better(part):
    stubborn = Pretraining(learning_rate=0.0, window=20, max_epochs=6, patience=2)
    params, curve = pretrain(RNN, part, [0, 1], stubborn)
    assert (curve.groupby("seed").epoch.max() == 2).all()
    assert curve[curve.best].groupby("seed").epoch.min().tolist() == [0, 0]
    fresh = initial_parameters(RNN, [0, 1], torch.float64)
    assert all(torch.equal(params[name], fresh[name]) for name in params)


def test_single_precision(part):
    one = Pretraining(learning_rate=0.01, window=20, max_epochs=1)
    params, _ = pretrain(RNN, part, [0], one, dtype=torch.float32)
    double, _ = pretrain(RNN, part, [0], one)
    assert params["W_hh"].dtype == torch.float32
    torch.testing.assert_close(params["W_hh"].double(), double["W_hh"], rtol=1e-2, atol=1e-4)


def test_a_part_that_is_too_short_is_refused(part):
    with pytest.raises(OrlaError, match="nothing to learn on"):
        pretrain(RNN, part.part(slice(0, 150)), [0], SETTINGS)
