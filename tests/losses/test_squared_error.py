import numpy as np
import pytest
import torch
from torch.func import vmap

from orla.losses.squared_error import SquaredError

LOSS = SquaredError()


@pytest.fixture
def outputs():
    return torch.from_numpy(np.random.default_rng(1).normal(size=(4, 50, 3)))


@pytest.fixture
def Y():
    return torch.from_numpy(np.random.default_rng(2).normal(size=(50, 3)))


def test_error_and_cotangent_of_a_worked_example():
    error, cotangent = LOSS.with_cotangent(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))
    assert error == (1 + 9) / 2
    assert cotangent.tolist() == [-1.0, 3.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_has_the_bits_of_the_sums_written_out(outputs, Y, dtype):
    outputs, y = outputs[:, 0].to(dtype), Y[0].to(dtype)
    difference = outputs - y
    error, cotangent = vmap(LOSS.with_cotangent, in_dims=(0, None))(outputs, y)
    assert torch.equal(error, (difference * difference).mean(1))
    assert torch.equal(cotangent, (2.0 / 3) * difference)


def r2(outputs, Y):
    residual = ((Y - outputs) ** 2).sum(0)
    total = ((Y - Y.mean(0)) ** 2).sum(0)
    each = 1 - residual / total
    return [each[0], each[-1], each.mean(), 1 - residual.sum() / total.sum()]


@pytest.mark.parametrize("own", [False, True])
def test_r2_is_that_of_the_formula(outputs, Y, own):
    targets = Y + torch.arange(4.0)[:, None, None] * Y.roll(1, 0) if own else Y
    scores = LOSS.scores(outputs, targets, None)
    names = ["r2_x", "r2_y", "r2_mean", "r2_weighted"]
    for model in range(4):
        expected = r2(outputs[model].numpy(), (targets[model] if own else Y).numpy())
        assert [scores[name][model] for name in names] == pytest.approx(expected, rel=1e-12)


def test_r2_of_perfect_outputs_is_one_and_of_the_mean_is_zero(Y):
    scores = LOSS.scores(torch.stack([Y, Y.mean(0).expand_as(Y)]), Y, None)
    for name in scores:
        assert scores[name] == pytest.approx([1, 0], abs=1e-15)


def test_mean_of_the_errors_is_the_mean_squared_error(outputs, Y):
    expected = [((o - Y.numpy()) ** 2).mean() for o in outputs.numpy()]
    assert LOSS.mean(outputs, Y, None).numpy() == pytest.approx(expected, rel=1e-14)
    assert LOSS.errors(outputs, Y).mean(1).numpy() == pytest.approx(expected, rel=1e-14)
    half = torch.arange(50) < 25
    expected = [((o[:25] - Y.numpy()[:25]) ** 2).mean() for o in outputs.numpy()]
    assert LOSS.mean(outputs, Y, half).numpy() == pytest.approx(expected, rel=1e-14)


def test_the_best_constant_is_the_mean_whose_error_is_the_variance(Y):
    expected = Y.numpy().var(0).mean()
    assert LOSS.constant_error(Y + 7.0, 3) == pytest.approx(expected, rel=1e-12)
    assert LOSS.constant_error(torch.ones(9, 2, dtype=torch.float64), 2) == 0.0
