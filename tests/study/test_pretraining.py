"""Early stopping, each network for itself, on streams that can be learned."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import oracles
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

RNN = NETWORKS["rnn"][0]
ONE_EPOCH = Pretraining(learning_rate=0.03, window=20, max_epochs=1)
# Two networks on noise: one gets better for long, one stops early and would get better again.
STOPPING = Pretraining(learning_rate=0.1, window=20, max_epochs=6, patience=2)
TWO_EPOCHS = replace(STOPPING, max_epochs=2)
NOISY_SEEDS = [2, 0]
STEPS, LEARNED = 250, 200  # the rest is validated on


def pretrain(part, seeds, settings, loss=SQUARED_ERROR, **options):
    return pretraining.pretrain(RNN, part, seeds, settings, loss, **options)


def assert_close(params, place, expected, rtol=1e-9, atol=1e-12):
    for name, p in expected.items():
        torch.testing.assert_close(params[name][place], p, rtol=rtol, atol=atol)


def fresh_networks(seeds):
    return initial_parameters(RNN, seeds, torch.float64)


def stream(remembered=0.0, noise=0.0):
    """Inputs, and targets that tell them, those of one step before, and noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(STEPS, 3))
    Y = X @ rng.normal(size=(3, 2)) + remembered * np.roll(X, 1, axis=0)[:, :2]
    Y += noise * rng.normal(size=(STEPS, 2))
    return Stream(X, Y / Y.std(0))


@pytest.fixture(scope="module")
def part():
    return stream(remembered=0.5)


@pytest.fixture(scope="module")
def one(part):
    """Two networks after one epoch, and their curves."""
    return pretrain(part, [0, 1], ONE_EPOCH)


def test_learning_never_sees_the_validation_share(part, one):
    before, curve = one
    changed = Stream(part.X.copy(), part.Y.copy())
    changed.Y[LEARNED:] += 1.0
    after, curve_after = pretrain(changed, [0, 1], ONE_EPOCH)
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert curve.validation_error[0] != curve_after.validation_error[0]
    changed.Y[LEARNED - 10] += 1.0
    third, _ = pretrain(changed, [0], ONE_EPOCH)
    assert not torch.equal(before["W_hh"][:1], third["W_hh"])


def test_patience_ends_a_network_that_gets_no_better(part, monkeypatch):
    validated = Mock(wraps=forward.outputs_of)
    monkeypatch.setattr(forward, "outputs_of", validated)
    stubborn = Pretraining(learning_rate=0.0, window=20, max_epochs=6, patience=2)
    params, curve = pretrain(part, [0, 1], stubborn)
    assert (curve.groupby("seed").epoch.max() == 2).all()
    assert validated.call_count == 3, "nothing is computed once all networks have stopped"
    assert curve[curve.best].groupby("seed").epoch.min().tolist() == [0, 0]
    fresh = fresh_networks([0, 1])
    assert all(torch.equal(params[name], fresh[name]) for name in params)


def test_single_precision_is_close_to_double(part, one):
    params, _ = pretrain(part, [0], ONE_EPOCH, dtype=torch.float32)
    assert params["W_hh"].dtype == torch.float32
    torch.testing.assert_close(params["W_hh"].double(), one[0]["W_hh"][:1], rtol=1e-2, atol=1e-4)


def test_a_network_that_diverges_is_refused(part):
    """By hand: with plain gradient descent at rate 50 the readout's error grows at each update."""
    wild = replace(ONE_EPOCH, optimizer="sgd", learning_rate=50.0)
    with pytest.raises(OrlaError, match=r"network of seed 4 diverged.* lower pretraining.learning"):
        pretrain(part, [4], wild)
    assert pretrain(part, [4], replace(wild, learning_rate=0.05))[1].validation_error.max() < 10.0


def test_settings_that_cannot_be_are_refused(part):
    with pytest.raises(OrlaError, match="nothing to learn on"):
        pretrain(part.slice_steps(slice(0, 150)), [0], ONE_EPOCH)
    with pytest.raises(OrlaError) as refused:
        pretrain(part, [0], replace(ONE_EPOCH, frozen=["W_out", "W_hx"]))
    assert str(refused.value) == (
        'pretraining: "frozen" names W_hx, which is no parameter of the network; it has'
        " W_ih, W_hh, b_h, W_out, b_out"
    )
    with pytest.raises(OrlaError, match="optimizer 'adem' is unknown; the nearest is \"adam\""):
        pretrain(part, [0], replace(ONE_EPOCH, optimizer="adem"))


@pytest.fixture(scope="module")
def noisy():
    return stream(noise=2.5)


def by_hand(
    part, seed, epochs, kind=torch.optim.Adam, frozen=(), lr=STOPPING.learning_rate, **options
):
    """Plain torch.optim.Adam on windows of 20 of the first 200 steps: (weights, errors) an epoch.

    The network's state begins anew in each epoch, Adam's does not. Adam, or another optimizer, is
    not told of frozen parameters.
    """
    X, Y = torch.as_tensor(part.X), torch.as_tensor(part.Y)
    leaves = {n: torch.nn.Parameter(p[0].clone()) for n, p in fresh_networks([seed]).items()}
    learned = [p for n, p in leaves.items() if n not in frozen]
    adam, found = kind(learned, lr=lr, **options), []
    for _ in range(epochs):
        h, training = torch.zeros(RNN.hidden, dtype=torch.float64), []
        for start in range(0, LEARNED, 20):
            for p in leaves.values():
                p.grad = None
            h, errors = steps(leaves, h.detach(), X[start : start + 20], Y[start : start + 20])
            sum(errors).backward()
            adam.step()
            training += [float(e.detach()) for e in errors]
        with torch.no_grad():
            _, errors = steps(leaves, h, X[LEARNED:], Y[LEARNED:])
        weights = {n: p.detach().clone() for n, p in leaves.items()}
        found.append((weights, np.mean(training), float(sum(errors)) / len(errors)))
    return found


def steps(params, h, X, Y):
    errors = []
    for x, y in zip(X, Y, strict=True):
        h = oracles.rnn_step(params, h, x)
        errors.append(oracles.loss(params, h, y))
    return h, errors


def stopped(errors, patience):
    """The best epoch, and how many were gone through."""
    best = 0
    for epoch, error in enumerate(errors):
        if error < errors[best]:
            best = epoch
        if epoch - best == patience:
            return best, epoch + 1
    return best, len(errors)


def test_early_stopping_is_that_of_plain_training_loops_of_each_network_alone(noisy):
    """The third network takes the place of the one that stops, beside the other that goes on."""
    seeds, lasted = [*NOISY_SEEDS, 1], []
    params, curve = pretrain(noisy, seeds, STOPPING, batch_models=2)
    assert {name: tuple(p.shape[1:]) for name, p in params.items()} == RNN.shapes()
    assert list(curve) == ["seed", "epoch", "training_error", "validation_error", "best"]
    for place, seed in enumerate(seeds):
        weights, training, errors = zip(*by_hand(noisy, seed, STOPPING.max_epochs), strict=True)
        best, ran = stopped(errors, STOPPING.patience)
        own = curve[curve.seed == seed]
        assert own.epoch.tolist() == list(range(ran))
        np.testing.assert_allclose(own.validation_error, errors[:ran], rtol=1e-8)
        np.testing.assert_allclose(own.training_error, training[:ran], rtol=1e-8)
        assert own[own.best].epoch.tolist() == [best]
        assert_close(params, place, weights[best], rtol=1e-7, atol=1e-9)
        for name in params:
            assert not torch.allclose(params[name][place], weights[ran - 1][name], rtol=1e-3)
        lasted.append((ran, min(errors[ran:], default=np.inf) < errors[best]))
    # One stops while the other goes on, and would have got better had it not.
    (longer, _), (shorter, would_improve), _ = lasted
    assert shorter < longer and would_improve


@pytest.mark.parametrize("name", catalogue.parts("loss"))
def test_every_loss_can_be_pretrained_with(part, name):
    loss = catalogue.make("loss", name)
    Y = part.Y.argmax(1) if loss.part.more["targets"] == "categories" else part.Y
    _, curve = pretrain(Stream(part.X, Y), [0], replace(ONE_EPOCH, max_epochs=2), loss)
    assert curve.validation_error[1] < curve.validation_error[0]


def test_unscored_steps_teach_nothing_and_streams_may_be_ones_own(part, one):
    scored = np.random.default_rng(0).random(STEPS) < 0.5
    other = part.Y + 5.0 * ~scored[:, None]
    first, second = (pretrain(Stream(part.X, Y, scored), [0], ONE_EPOCH) for Y in (part.Y, other))
    assert all(torch.equal(first[0][n], second[0][n]) for n in first[0])
    assert first[1].equals(second[1])
    assert not torch.equal(
        pretrain(Stream(part.X, other), [0], ONE_EPOCH)[0]["W_hh"], first[0]["W_hh"]
    )
    X, Y = (np.stack([a, a[::-1]]) for a in (part.X, part.Y))
    own, _ = pretrain(Stream(X, Y), [0, 1], ONE_EPOCH)
    alone, _ = pretrain(Stream(X[1].copy(), Y[1].copy()), [1], ONE_EPOCH)
    torch.testing.assert_close(own["W_hh"][1], alone["W_hh"][0], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(own["W_hh"][0], one[0]["W_hh"][0], rtol=1e-9, atol=1e-12)
    assert not torch.allclose(own["W_hh"][1], one[0]["W_hh"][1])


def test_errors_of_the_curve_are_means_over_scored_steps(noisy):
    """A rate of 0 leaves the fresh network as it is."""
    scored = np.random.default_rng(0).random(STEPS) < 0.5
    still = replace(ONE_EPOCH, learning_rate=0.0)
    _, curve = pretrain(Stream(noisy.X, noisy.Y, scored), [2], still)
    fresh = {n: p[0] for n, p in fresh_networks([2]).items()}
    zero = torch.zeros(RNN.hidden, dtype=torch.float64)
    _, errors = steps(fresh, zero, torch.as_tensor(noisy.X), torch.as_tensor(noisy.Y))
    learned, validated = (
        np.array(errors)[part][scored[part]].mean()
        for part in (slice(LEARNED), slice(LEARNED, STEPS))
    )
    assert curve.training_error.tolist() == pytest.approx([learned], rel=1e-9)
    assert curve.validation_error.tolist() == pytest.approx([validated], rel=1e-9)


@pytest.fixture(scope="module")
def default(noisy):
    """Two networks after two epochs of Adam."""
    return pretrain(noisy, NOISY_SEEDS, TWO_EPOCHS)


@pytest.mark.parametrize(
    ("optimizer", "kind", "options"),
    [
        ("sgd", torch.optim.SGD, {"lr": 0.002}),
        ({"kind": "rmsprop", "alpha": 0.5}, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.5}),
    ],
)
def test_the_optimizer_may_be_another(noisy, default, optimizer, kind, options):
    settings = replace(TWO_EPOCHS, optimizer=optimizer, learning_rate=options["lr"])
    params, curve = pretrain(noisy, NOISY_SEEDS[:1], settings)
    hand = by_hand(noisy, NOISY_SEEDS[0], 2, kind, **options)
    np.testing.assert_allclose(curve.validation_error, [error for *_, error in hand], rtol=1e-8)
    assert_close(params, 0, hand[int(np.argmin(curve.validation_error))][0], 1e-7, 1e-9)
    by_adam = default[1][default[1].seed == NOISY_SEEDS[0]].validation_error
    assert not np.allclose(by_adam, curve.validation_error, rtol=1e-3)


def test_frozen_parameters_are_unchanged_and_the_rest_match_a_plain_training_loop(noisy, default):
    frozen = ["b_out", "W_ih"]
    params, curve = pretrain(noisy, NOISY_SEEDS, replace(TWO_EPOCHS, frozen=frozen))
    free, [_, seed] = default[0], NOISY_SEEDS
    for name, p in fresh_networks(NOISY_SEEDS).items():
        assert torch.equal(params[name], p) == (name in frozen)
        assert not torch.equal(free[name], p) and not torch.equal(free[name], params[name])
    hand = by_hand(noisy, seed, 2, frozen=frozen)
    errors = curve[curve.seed == seed].validation_error
    np.testing.assert_allclose(errors, [error for *_, error in hand], rtol=1e-8)
    assert_close(params, 1, hand[int(np.argmin(errors))][0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["lars", "muon"])
def test_no_optimizer_changes_what_is_frozen(noisy, name):
    settings = replace(ONE_EPOCH, optimizer=name, frozen=("W_hh", "b_h"))
    params, _ = pretrain(noisy, [0], settings)
    for n, p in fresh_networks([0]).items():
        assert torch.equal(params[n], p) == (n in ("W_hh", "b_h"))
