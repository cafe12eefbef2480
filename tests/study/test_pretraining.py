"""Early stopping, each network for itself, on a stream that can be learned."""

import dataclasses
from unittest.mock import Mock

import numpy as np
import oracles
import pandas as pd
import pytest
import torch
from harness import NETWORKS, SQUARED_ERROR

from orla import catalogue
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


def test_networks_learn(part):
    params, curve = pretrain(RNN, part, [0, 1], dataclasses.replace(SETTINGS, max_epochs=4))
    assert {name: tuple(p.shape[1:]) for name, p in params.items()} == RNN.shapes()
    assert list(curve) == ["seed", "epoch", "training_error", "validation_error", "best"]
    first = curve[curve.epoch == 0].set_index("seed").validation_error
    best = curve[curve.best].set_index("seed").validation_error
    assert (best < 0.7 * first).all()


def test_the_size_of_a_batch_changes_the_last_digits_only(part):
    """Three networks in batches of two: the second is filled up with a copy that is not told of."""
    few = dataclasses.replace(SETTINGS, max_epochs=1)
    params, curve = pretrain(RNN, part, [0, 1, 2], few)
    halved, rows = pretrain(RNN, part, [0, 1, 2], few, batch_models=2)
    pd.testing.assert_frame_equal(rows, curve, rtol=1e-9)
    for name, p in params.items():
        torch.testing.assert_close(halved[name], p, rtol=1e-9, atol=1e-12)


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


def test_patience_ends_a_network_that_gets_no_better(part, monkeypatch):
    validated = Mock(wraps=forward.outputs_of)
    monkeypatch.setattr(forward, "outputs_of", validated)
    stubborn = Pretraining(learning_rate=0.0, window=20, max_epochs=6, patience=2)
    params, curve = pretrain(RNN, part, [0, 1], stubborn)
    assert (curve.groupby("seed").epoch.max() == 2).all()
    assert validated.call_count == 3, "nothing is computed once all networks have stopped"
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


def test_a_network_that_diverges_is_refused(part):
    """By hand: with plain gradient descent at rate 50 the readout's error grows at each update."""
    wild = dataclasses.replace(SETTINGS, optimizer="sgd", learning_rate=50.0)
    with pytest.raises(OrlaError, match=r"network of seed 4 diverged.* lower pretraining.learning"):
        pretrain(RNN, part, [4], wild)
    tame = dataclasses.replace(SETTINGS, optimizer="sgd", learning_rate=0.05)
    assert pretrain(RNN, part, [4], tame)[1].validation_error.max() < 10.0


# Two networks on noise: one gets better for long, one stops early and would get better again.
STOPPING = Pretraining(learning_rate=0.1, window=20, max_epochs=9, patience=2)
NOISY_SEEDS = [2, 3]


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    Y = X @ rng.normal(size=(3, 2)) + 2.5 * rng.normal(size=(500, 2))
    return Stream(X, Y / Y.std(0))


def by_hand(
    part, seed, epochs, kind=torch.optim.Adam, frozen=(), lr=STOPPING.learning_rate, **options
):
    """Plain torch.optim.Adam on windows of 20 of the first 400 steps: (weights, errors) an epoch.

    The network's state begins anew in each epoch, Adam's does not. Adam, or another optimizer, is
    not told of frozen parameters.
    """
    X, Y = torch.as_tensor(part.X), torch.as_tensor(part.Y)
    fresh = initial_parameters(RNN, [seed], torch.float64)
    leaves = {n: torch.nn.Parameter(p[0].clone()) for n, p in fresh.items()}
    learned = [p for n, p in leaves.items() if n not in frozen]
    adam, found = kind(learned, lr=lr, **options), []
    for _ in range(epochs):
        h, training = torch.zeros(RNN.hidden, dtype=torch.float64), []
        for start in range(0, 400, 20):
            for p in leaves.values():
                p.grad = None
            h, errors = steps(leaves, h.detach(), X[start : start + 20], Y[start : start + 20])
            sum(errors).backward()
            adam.step()
            training += [float(e.detach()) for e in errors]
        with torch.no_grad():
            _, errors = steps(leaves, h, X[400:], Y[400:])
        weights = {n: p.detach().clone() for n, p in leaves.items()}
        found.append((weights, np.mean(training), float(sum(errors)) / len(errors)))
    return found


def steps(params, h, X, Y):
    errors = []
    for x, y in zip(X, Y, strict=True):
        h = oracles.rnn_step(params, h, x)
        errors.append(oracles.loss(params, h, y))
    return h, errors


@pytest.fixture(scope="module")
def epochs(noisy):
    return {seed: by_hand(noisy, seed, STOPPING.max_epochs) for seed in NOISY_SEEDS}


@pytest.fixture(scope="module")
def both(noisy):
    """The two networks, pretrained together."""
    return pretrain(RNN, noisy, NOISY_SEEDS, STOPPING)


def stopped(errors, patience):
    """The best epoch, and how many were gone through."""
    best = 0
    for epoch, error in enumerate(errors):
        if error < errors[best]:
            best = epoch
        if epoch - best == patience:
            return best, epoch + 1
    return best, len(errors)


def test_early_stopping_is_that_of_plain_training_loops(both, epochs):
    params, curve = both
    lasted = []
    for place, seed in enumerate(NOISY_SEEDS):
        weights, training, errors = zip(*epochs[seed], strict=True)
        best, ran = stopped(errors, STOPPING.patience)
        own = curve[curve.seed == seed]
        assert own.epoch.tolist() == list(range(ran))
        np.testing.assert_allclose(own.validation_error, errors[:ran], rtol=1e-8)
        np.testing.assert_allclose(own.training_error, training[:ran], rtol=1e-8)
        assert own[own.best].epoch.tolist() == [best]
        for name, p in weights[best].items():
            torch.testing.assert_close(params[name][place], p, rtol=1e-7, atol=1e-9)
            assert not torch.allclose(params[name][place], weights[ran - 1][name], rtol=1e-3)
        lasted.append((ran, min(errors[ran:], default=np.inf) < errors[best]))
    # One stops while the other goes on, and would have got better had it not.
    (longer, _), (shorter, would_improve) = lasted
    assert shorter < longer and would_improve


@pytest.mark.parametrize("place", [0, 1])
def test_when_another_network_stops_changes_nothing(noisy, both, place):
    params, curve = both
    seed = NOISY_SEEDS[place]
    alone, own = pretrain(RNN, noisy, [seed], STOPPING)
    curve = curve[curve.seed == seed].reset_index(drop=True)
    assert curve[["epoch", "best"]].equals(own[["epoch", "best"]])
    for name, p in alone.items():
        torch.testing.assert_close(p[0], params[name][place], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", catalogue.parts("loss"))
def test_every_loss_can_be_pretrained_with(part, name):
    loss = catalogue.make("loss", name)
    Y = part.Y
    if loss.part.more["targets"] == "categories":
        Y = part.Y.argmax(1)
    one = Pretraining(learning_rate=0.01, window=20, max_epochs=3)
    _, curve = pretraining.pretrain(RNN, Stream(part.X, Y), [0], one, loss)
    assert curve.validation_error[2] < curve.validation_error[0]


def test_unscored_steps_teach_nothing_and_streams_may_be_ones_own(part):
    one = Pretraining(learning_rate=0.01, window=20, max_epochs=1)
    scored = np.random.default_rng(0).random(1000) < 0.5
    other = part.Y + 5.0 * ~scored[:, None]
    masked = [Stream(part.X, Y, scored) for Y in (part.Y, other)]
    first, second = (pretrain(RNN, s, [0, 1], one) for s in masked)
    assert all(torch.equal(first[0][n], second[0][n]) for n in first[0])
    assert first[1].equals(second[1])
    shared, _ = pretrain(RNN, Stream(part.X, other), [0, 1], one)
    assert not torch.equal(shared["W_hh"], first[0]["W_hh"])
    X, Y = (np.stack([a, a[::-1]]) for a in (part.X, part.Y))
    own, _ = pretrain(RNN, Stream(X, Y), [0, 1], one)
    for place in range(2):
        alone, _ = pretrain(RNN, Stream(X[place].copy(), Y[place].copy()), [place], one)
        torch.testing.assert_close(own["W_hh"][place], alone["W_hh"][0], rtol=1e-9, atol=1e-12)
    assert not torch.allclose(own["W_hh"][1], pretrain(RNN, part, [1], one)[0]["W_hh"][0])


def test_errors_of_the_curve_are_means_over_scored_steps(noisy):
    """A rate of 0 leaves the fresh network as it is."""
    scored = np.random.default_rng(0).random(500) < 0.5
    still = dataclasses.replace(STOPPING, learning_rate=0.0, max_epochs=1)
    _, curve = pretrain(RNN, Stream(noisy.X, noisy.Y, scored), [2], still)
    fresh = {n: p[0] for n, p in initial_parameters(RNN, [2], torch.float64).items()}
    zero = torch.zeros(RNN.hidden, dtype=torch.float64)
    _, errors = steps(fresh, zero, torch.as_tensor(noisy.X), torch.as_tensor(noisy.Y))
    learned, validated = (
        np.array(errors)[part][scored[part]].mean() for part in (slice(400), slice(400, 500))
    )
    assert curve.training_error.tolist() == pytest.approx([learned], rel=1e-9)
    assert curve.validation_error.tolist() == pytest.approx([validated], rel=1e-9)


ONE = dataclasses.replace(STOPPING, max_epochs=2)


@pytest.mark.parametrize(
    ("optimizer", "kind", "options"),
    [
        ("sgd", torch.optim.SGD, {"lr": 0.002}),
        ({"kind": "rmsprop", "alpha": 0.5}, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.5}),
    ],
)
def test_the_optimizer_may_be_another(noisy, optimizer, kind, options):
    settings = dataclasses.replace(ONE, optimizer=optimizer, learning_rate=options["lr"])
    params, curve = pretrain(RNN, noisy, [2], settings)
    hand = by_hand(noisy, 2, 2, kind, **options)
    np.testing.assert_allclose(curve.validation_error, [error for *_, error in hand], rtol=1e-8)
    for name, p in hand[int(np.argmin(curve.validation_error))][0].items():
        torch.testing.assert_close(params[name][0], p, rtol=1e-7, atol=1e-9)
    default, by_adam = pretrain(RNN, noisy, [2], ONE)
    assert not np.allclose(by_adam.validation_error, curve.validation_error, rtol=1e-3)
    named, _ = pretrain(RNN, noisy, [2], dataclasses.replace(ONE, optimizer={"kind": "adam"}))
    assert all(torch.equal(named[name], p) for name, p in default.items())


@pytest.mark.parametrize("frozen", [["W_hh"], ["b_out", "W_ih"]])
def test_frozen_parameters_stay_bit_for_bit_and_the_others_learn_as_without_them(noisy, frozen):
    params, curve = pretrain(RNN, noisy, [2, 3], dataclasses.replace(ONE, frozen=frozen))
    fresh = initial_parameters(RNN, [2, 3], torch.float64)
    free, _ = pretrain(RNN, noisy, [2, 3], ONE)
    for name, p in fresh.items():
        assert torch.equal(params[name], p) == (name in frozen)
        assert not torch.equal(free[name], p) and not torch.equal(free[name], params[name])
    hand = by_hand(noisy, 3, 2, frozen=frozen)
    errors = curve[curve.seed == 3].validation_error
    np.testing.assert_allclose(errors, [error for *_, error in hand], rtol=1e-8)
    for name, p in hand[int(np.argmin(errors))][0].items():
        torch.testing.assert_close(params[name][1], p, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["lars", "gradnorm", "muon"])
def test_no_optimizer_changes_what_is_frozen(noisy, name):
    settings = Pretraining(0.01, 20, max_epochs=1, optimizer=name, frozen=("W_hh", "b_h"))
    params, _ = pretrain(RNN, noisy, [0], settings)
    for n, p in initial_parameters(RNN, [0], torch.float64).items():
        assert torch.equal(params[n], p) == (n in ("W_hh", "b_h"))


def test_settings_that_cannot_be_are_refused(noisy):
    with pytest.raises(OrlaError) as refused:
        pretrain(RNN, noisy, [0], dataclasses.replace(ONE, frozen=["W_out", "W_hx"]))
    assert str(refused.value) == (
        'pretraining: "frozen" names W_hx, which is no parameter of the network; it has'
        " W_ih, W_hh, b_h, W_out, b_out"
    )
    with pytest.raises(OrlaError, match="optimizer 'adem' is unknown; the nearest is \"adam\""):
        pretrain(RNN, noisy, [0], dataclasses.replace(ONE, optimizer="adem"))
