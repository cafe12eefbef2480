"""What holds for every loss, plug-ins included."""

import numpy as np
import pytest
import torch
from scipy import optimize
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
        torch.testing.assert_close(by_hand[0], loss.error(out, y), rtol=0, atol=0)
        assert by_hand[1].abs().max() > 1e-3


@pytest.mark.parametrize("own", [False, True])
def test_errors_are_those_of_each_model_and_step(loss, own):
    outputs, Y = outputs_and_targets(loss, own)
    errors = loss.errors(outputs, Y)
    assert errors.shape == (MODELS, STEPS)
    for model in range(MODELS):
        for step in range(STEPS):
            one = loss.error(outputs[model, step], (Y[model] if own else Y)[step])
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


def test_no_constant_is_better_than_the_constant_error(loss):
    Y = targets(loss)
    best = loss.constant_error(Y, N_OUT)
    assert isinstance(best, float)
    found = optimize.minimize(
        lambda c: float(loss.errors(torch.as_tensor(c).expand(1, len(Y), N_OUT), Y).mean()),
        np.zeros(N_OUT),
        method="Powell",
        options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 10_000},
    )
    assert best == pytest.approx(found.fun, rel=1e-7)
    assert best < float(loss.errors(torch.zeros(1, len(Y), N_OUT, dtype=torch.float64), Y).mean())


def test_the_constant_error_that_is_searched_for_is_that_of_the_formula(loss):
    Y = targets(loss)
    assert Loss.constant_error(loss, Y, N_OUT) == pytest.approx(
        loss.constant_error(Y, N_OUT), rel=1e-9
    )


def test_mean_scored_of_a_worked_example():
    values = torch.tensor([[1.0, 2.0, 6.0], [0.0, torch.nan, 4.0]])
    assert mean_scored(values, torch.tensor([True, False, True])).tolist() == [3.5, 2.0]
    assert mean_scored(values[:1], None).tolist() == [3.0]
