import math

import pytest
import torch

from orla.losses.cross_entropy import CrossEntropy

LOSS = CrossEntropy()


@pytest.fixture
def outputs():
    return torch.randn(3, 40, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.fixture
def Y():
    return torch.randint(6, (40,), generator=torch.Generator().manual_seed(2))


def test_error_and_cotangent_of_a_worked_example():
    # Probabilities 1/6, 2/6, 3/6.
    outputs = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).log()
    error, cotangent = LOSS.with_cotangent(outputs, torch.tensor(1))
    assert error.item() == pytest.approx(math.log(3), rel=1e-15)
    assert cotangent.tolist() == pytest.approx([1 / 6, 2 / 6 - 1, 3 / 6], rel=1e-15)


def test_errors_are_those_of_torch(outputs, Y):
    expected = torch.nn.functional.cross_entropy(
        outputs.transpose(1, 2), Y.expand(3, 40), reduction="none"
    )
    torch.testing.assert_close(LOSS.errors(outputs, Y), expected)
    other = LOSS.errors(outputs, Y.roll(1))
    assert not torch.allclose(other, expected)


def test_large_outputs_do_not_overflow():
    outputs = torch.tensor([1000.0, 0.0, -1000.0], dtype=torch.float64)
    assert LOSS.error(outputs, torch.tensor(0)) == 0
    error, cotangent = LOSS.with_cotangent(outputs, torch.tensor(2))
    assert error == 2000
    assert cotangent.tolist() == [1, 0, -1]


@pytest.mark.parametrize("n", [2, 8, 97])
def test_bits_of_a_uniform_predictor_are_the_logarithm_of_the_categories(n):
    Y = torch.arange(30) % n
    scores = LOSS.scores(torch.full((2, 30, n), 0.7, dtype=torch.float64), Y, None)
    assert scores["bits_per_symbol"] == pytest.approx([math.log2(n)] * 2, rel=1e-14)


def test_accuracy_counts_the_steps_that_are_right(Y):
    right = torch.nn.functional.one_hot(Y, 6).double()
    half = torch.where((torch.arange(40) < 20)[:, None], right, right.roll(1, -1))
    scores = LOSS.scores(torch.stack([right, half, right.roll(1, -1)]), Y, None)
    assert scores["accuracy"].tolist() == [1, 0.5, 0]


def test_a_diverged_model_has_no_accuracy(outputs, Y):
    outputs[1] = torch.nan
    scores = LOSS.scores(outputs, Y, None)
    for column in scores.values():
        assert [math.isnan(value) for value in column] == [False, True, False]


def test_the_best_constant_is_the_shares_whose_error_is_the_entropy():
    Y = torch.tensor([0, 0, 1, 3])  # of five categories, two never come
    assert LOSS.constant_error(Y, 5) == pytest.approx(1.5 * math.log(2), rel=1e-14)
    assert LOSS.constant_error(torch.arange(8), 8) == pytest.approx(math.log(8), rel=1e-14)
    assert LOSS.constant_error(torch.full((7,), 2), 5) == 0.0
