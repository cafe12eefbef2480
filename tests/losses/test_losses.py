"""What holds for every loss, plug-ins included."""

import math

import numpy as np
import pytest
import torch
from torch.func import vmap
from torch.fx.experimental.proxy_tensor import make_fx

from orla import catalogue
from orla.losses.base import Loss, mean_scored

MODELS, STEPS, N_OUT = 3, 41, 4


def outputs_and_targets(loss, own, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    lead = (MODELS, STEPS) if own else (STEPS,)
    outputs = torch.randn(MODELS, STEPS, N_OUT, generator=generator, dtype=dtype)
    if loss.part.more["targets"] == "categories":
        return outputs, torch.randint(N_OUT, lead, generator=generator)
    return outputs, torch.randn(*lead, N_OUT, generator=generator, dtype=dtype)


@pytest.fixture(params=catalogue.parts("loss"))
def loss(request):
    return catalogue.make("loss", request.param)


def test_loss_says_its_unit_and_its_kind_of_target(loss):
    assert loss.part.more["unit"]
    assert loss.part.more["targets"] in ("values", "categories")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cotangent_is_that_of_automatic_differentiation(loss, dtype):
    outputs, Y = outputs_and_targets(loss, own=False, dtype=dtype)
    for y, out in zip(Y, outputs[0], strict=True):
        by_hand = loss.with_cotangent(out, y)
        automatic = Loss.with_cotangent(loss, out, y)
        assert by_hand[0].dtype == by_hand[1].dtype == dtype
        assert by_hand[0].shape == () and by_hand[1].shape == (N_OUT,)
        torch.testing.assert_close(by_hand, automatic)
        torch.testing.assert_close(by_hand[0], loss.step_loss(out, y), rtol=0, atol=0)
        assert by_hand[1].abs().max() > 1e-3


@pytest.mark.parametrize("own", [False, True])
def test_errors_are_those_of_each_model_and_step(loss, own):
    outputs, Y = outputs_and_targets(loss, own)
    errors = loss.step_losses(outputs, Y)
    assert errors.shape == (MODELS, STEPS)
    for model in range(MODELS):
        for step in range(STEPS):
            one = loss.step_loss(outputs[model, step], (Y[model] if own else Y)[step])
            torch.testing.assert_close(errors[model, step], one)


@pytest.mark.parametrize("own", [False, True])
def test_a_batch_can_be_traced_and_gives_what_single_models_give(loss, own):
    outputs, Y = outputs_and_targets(loss, own)
    first = outputs[:, 0], Y[:, 0] if own else Y[0]

    def batch(outputs, y):
        return vmap(loss.with_cotangent, in_dims=(0, 0 if own else None))(outputs, y)

    traced = make_fx(batch, tracing_mode="fake")(*first)
    for ran in (batch(*first), traced(*first)):
        for model in range(MODELS):
            one = loss.with_cotangent(first[0][model], first[1][model] if own else first[1])
            torch.testing.assert_close((ran[0][model], ran[1][model]), one)
    # The graph holds for other numbers than those that it was traced with.
    other = -first[0], first[1].flip(-1) if own else first[1]
    torch.testing.assert_close(traced(*other), batch(*other))


@pytest.mark.parametrize("own", [False, True])
def test_scores_are_the_declared_columns_one_a_model(loss, own):
    outputs, Y = outputs_and_targets(loss, own)
    scores = loss.scores(outputs, Y, None)
    assert scores.keys() == loss.columns().keys()
    assert all(len(text) > 20 for text in loss.columns().values())
    for column in scores.values():
        assert column.shape == (MODELS,) and column.dtype == "float64"


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("own_mask", [False, True])
def test_masked_scores_are_those_of_the_steps_that_are_left(loss, own, own_mask):
    outputs, Y = outputs_and_targets(loss, own)
    kept = torch.arange(0, 25, 2)
    scored = torch.zeros(STEPS, dtype=torch.bool).index_fill(0, kept, True)
    mask = scored.expand(MODELS, STEPS) if own_mask else scored
    # What stands at a step that is left out must not count, whatever it is.
    spoiled = outputs.masked_fill(~scored[:, None], torch.inf)
    masked = loss.scores(spoiled, Y, mask)
    cut = loss.scores(outputs[:, kept], Y[:, kept] if own else Y[kept], None)
    whole = loss.scores(outputs, Y, None)
    for name in cut:
        assert masked[name] == pytest.approx(cut[name], rel=1e-12), name
        assert whole[name] != pytest.approx(cut[name], rel=1e-3), name


def test_masks_of_different_lengths_count_for_each_model_by_itself(loss):
    outputs, Y = outputs_and_targets(loss, own=True)
    scored = torch.arange(STEPS) < torch.tensor([[3], [20], [41]])
    together = loss.scores(outputs, Y, scored)
    for model, length in enumerate((3, 20, 41)):
        alone = loss.scores(
            outputs[model : model + 1, :length], Y[model : model + 1, :length], None
        )
        for name in alone:
            assert together[name][model] == pytest.approx(alone[name][0], rel=1e-12), name


def targets(loss, steps=60):
    """Skewed ones, so that mean, median and best constant differ."""
    generator = torch.Generator().manual_seed(3)
    if loss.part.more["targets"] == "categories":
        return (torch.rand(steps, generator=generator) ** 2 * N_OUT).long()
    return torch.rand(steps, N_OUT, generator=generator, dtype=torch.float64) ** 4 * 5


def test_the_constant_error_that_is_searched_for_is_that_of_the_formula(loss):
    Y = targets(loss)
    assert Loss.constant_error(loss, Y, N_OUT) == pytest.approx(
        loss.constant_error(Y, N_OUT), rel=1e-9
    )


# A loss, outputs, target, error, and its derivative by the outputs.
THIRDS = [math.log(k / 6) for k in (1, 2, 3)]  # probabilities 1/6, 2/6, 3/6
WORKED = [
    ("squared_error", [1.0, 5.0], [2.0, 2.0], 5.0, [-1.0, 3.0]),
    ("cross_entropy", THIRDS, 1, math.log(3), [1 / 6, 2 / 6 - 1, 3 / 6]),
    ("cross_entropy", [1000.0, 0.0, -1000.0], 0, 0.0, [0.0, 0.0, 0.0]),
    ("cross_entropy", [1000.0, 0.0, -1000.0], 2, 2000.0, [1.0, 0.0, -1.0]),
]


@pytest.mark.parametrize(("name", "outputs", "y", "error", "cotangent"), WORKED)
def test_error_and_cotangent_of_a_worked_example(name, outputs, y, error, cotangent):
    outputs = torch.tensor(outputs, dtype=torch.float64)
    found = catalogue.make("loss", name).with_cotangent(outputs, torch.tensor(y))
    assert float(found[0]) == pytest.approx(error, rel=1e-14)
    assert found[1].tolist() == pytest.approx(cotangent, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "Y", "outputs", "expected"),
    [
        ("cross_entropy", [0, 0, 1, 3], 5, 1.5 * math.log(2)),  # two of five never come
        ("cross_entropy", [0, 1, 2, 3, 4, 5, 6, 7], 8, math.log(8)),
        ("cross_entropy", [2] * 7, 5, 0.0),
        ("squared_error", [[7.0, 1.0], [9.0, 5.0]], 2, (1 + 4) / 2),
        ("squared_error", [[1.0, 1.0]] * 9, 2, 0.0),
    ],
)
def test_constant_errors_are_the_entropy_and_the_variance(name, Y, outputs, expected):
    found = catalogue.make("loss", name).constant_error(torch.tensor(Y), outputs)
    assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_batch_of_squared_errors_has_the_bits_of_the_sums_written_out(dtype):
    loss = catalogue.make("loss", "squared_error")
    outputs, Y = outputs_and_targets(loss, own=False, dtype=dtype)
    difference = outputs[:, 0] - Y[0]
    error, cotangent = vmap(loss.with_cotangent, in_dims=(0, None))(outputs[:, 0], Y[0])
    assert torch.equal(error, (difference * difference).mean(1))
    assert torch.equal(cotangent, (2.0 / N_OUT) * difference)
    half = torch.arange(STEPS) < 25
    for scored, steps in ((None, STEPS), (half, 25)):
        expected = ((outputs - Y)[:, :steps].double() ** 2).mean((1, 2))
        found = loss.mean_error(outputs, Y, scored)
        assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.mark.parametrize("own", [False, True])
def test_r2_is_that_of_the_formula(own):
    loss = catalogue.make("loss", "squared_error")
    outputs, Y = outputs_and_targets(loss, own)
    scores = loss.scores(outputs, Y, None)
    for model in range(MODELS):
        y = (Y[model] if own else Y).numpy()
        residual = ((y - outputs[model].numpy()) ** 2).sum(0)
        total = ((y - y.mean(0)) ** 2).sum(0)
        each = 1 - residual / total
        expected = [each[0], each[-1], each.mean(), 1 - residual.sum() / total.sum()]
        names = ["r2_x", "r2_y", "r2_mean", "r2_weighted"]
        assert [scores[n][model] for n in names] == pytest.approx(expected, rel=1e-12)
    if not own:
        best = loss.scores(torch.stack([Y, Y.mean(0).expand_as(Y)]), Y, None)
        assert all(best[n] == pytest.approx([1, 0], abs=1e-15) for n in best)


def test_categories_are_scored_by_accuracy_and_bits_per_symbol():
    loss, Y = catalogue.make("loss", "cross_entropy"), torch.arange(40) % 6
    for n in (6, 97):
        bits = loss.scores(torch.full((1, 40, n), 0.7).double(), Y, None)["bits_per_symbol"]
        assert bits == pytest.approx([math.log2(n)], rel=1e-14)
    right = torch.nn.functional.one_hot(Y, 6).double()
    half = torch.where((torch.arange(40) < 20)[:, None], right, right.roll(1, -1))
    outputs = torch.stack([right, half, right.roll(1, -1), right * torch.nan])
    scores = loss.scores(outputs, Y, None)
    assert scores["accuracy"][:3].tolist() == [1, 0.5, 0]
    assert all(np.isnan(column).tolist() == [False] * 3 + [True] for column in scores.values())
    theirs = torch.nn.functional.cross_entropy(outputs[1], Y, reduction="none")
    torch.testing.assert_close(loss.step_losses(outputs[1:2], Y)[0], theirs)


def test_mean_scored_of_a_worked_example():
    values = torch.tensor([[1.0, 2.0, 6.0], [0.0, torch.nan, 4.0]])
    assert mean_scored(values, torch.tensor([True, False, True])).tolist() == [3.5, 2.0]
    assert mean_scored(values[:1], None).tolist() == [3.0]
