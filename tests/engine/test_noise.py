"""A model's random numbers follow from its seed and the step alone."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from harness import NETWORKS, Drawing, networks, same, stream, watch
from torch.utils import _pytree as pytree

from orla.engine.state import NOISE_BLOCK, fixed_noise, step_noise
from orla.learners.base import Learner
from orla.learners.tbptt import Immediate

LIKE = torch.zeros((), dtype=torch.float64)
LSTM = NETWORKS["lstm"][0]
PARAMS, (X, Y) = networks(LSTM), stream(24)


def test_numbers_do_not_depend_on_who_asks_when():
    whole = step_noise((4, 7), 0, 500, 3, LIKE)
    assert whole.shape == (500, 2, 3)
    pieces = [(0, 1), (1, 198), (199, 2), (201, 250), (451, 49)]
    cut = torch.cat([step_noise((4, 7), first, steps, 3, LIKE) for first, steps in pieces])
    assert torch.equal(whole, cut)
    assert torch.equal(step_noise((1, 7, 4), 450, 9, 3, LIKE)[:, 1:], whole[450:459].flip(1))
    drawn = fixed_noise((4, 7), 3, LIKE)
    assert drawn.shape == (2, 3) and torch.equal(fixed_noise((7, 4), 3, LIKE).flip(0), drawn)
    singles = step_noise((4, 7), 0, 500, 3, LIKE.float()), fixed_noise((4, 7), 3, LIKE.float())
    for single, double in zip(singles, (whole, drawn), strict=True):
        assert single.dtype == torch.float32 and torch.equal(single, double.float())


def test_numbers_differ_by_seed_step_and_place_and_are_uniform_or_normal():
    seeds = tuple(range(40))
    drawn = step_noise(seeds, 0, 3 * NOISE_BLOCK, 5, LIKE)
    assert (drawn >= 0).all() and (drawn < 1).all()
    assert len(drawn.unique()) == drawn.numel()
    assert abs(float(drawn.mean()) - 0.5) < 0.005 and abs(float(drawn.var()) - 1 / 12) < 0.002
    correlations = np.corrcoef(drawn.permute(1, 0, 2).flatten(1).numpy())[np.triu_indices(40, 1)]
    assert abs(correlations).max() < 0.1
    many = fixed_noise(seeds, 300, LIKE)
    assert len(many.unique()) == many.numel()
    assert abs(float(many.mean())) < 0.03 and abs(float(many.var()) - 1) < 0.05
    assert float(many.min()) < -2.5 and float(many.max()) > 2.5
    apart = np.corrcoef(many[:, :200], step_noise(seeds, 0, 1, 200, LIKE)[0])
    assert abs(apart[:40, 40:]).max() < 0.4


@dataclass(frozen=True)
class Scaled(Learner):
    """Immediate's gradient, times the mean of numbers that each model drew once."""

    stride, fixed_noise_size = 1, 4

    def gradient(self, carry, params, step):
        share = carry["fixed_noise"].mean(-1)
        _, local = self.derivatives.pull(params, step["tape"], share[:, None] * step["cotangent"])
        window = pytree.tree_map(lambda t: t[None], (step["tape"], local))
        return carry, self.derivatives.summed_gradient(*window)


def by_step(seeds):
    return step_noise(seeds, 0, 24, 3, LIKE).mean(-1)


def once(seeds):
    return fixed_noise(seeds, 4, LIKE).mean(-1).abs().expand(24, -1)


@pytest.mark.parametrize(
    ("learner", "drawn"),
    [(Drawing(LSTM, 3), by_step), (Drawing(LSTM, 3, window=8), None), (Scaled(LSTM), once)],
)
def test_a_learner_is_given_the_numbers_of_its_model_and_step(learner, drawn):
    plain = {"plain": Immediate(LSTM, window=learner.stride)}
    ours, others = (
        watch(learner, PARAMS, X, Y, observers=plain, seeds=seeds, segment=8)
        for seeds in ((3, 11), (3, 12))
    )
    for model in range(2 if drawn else 0):
        pairs = zip(ours.model(model)[0], ours.model(model, "of plain")[0], strict=True)
        factors = [float(g["W_ih"].norm() / p["W_ih"].norm()) for g, p in pairs]
        assert factors == pytest.approx(drawn((3, 11))[:, model].tolist(), rel=1e-9)
    assert same(ours.model(0), others.model(0))
    assert not same(ours.model(1)[0], others.model(1)[0])
    assert same(ours.model(1, "of plain"), others.model(1, "of plain"))


def test_learners_of_one_loop_that_draw_as_many_are_given_the_same_numbers():
    observers = {"a": Drawing(LSTM), "b": Drawing(LSTM, 4)}
    watched = watch(Drawing(LSTM), PARAMS, X, Y, observers=observers)
    assert same(watched.series("of a"), watched.gradients)
    assert not same(watched.series("of b"), watched.gradients)


def test_an_observers_fixed_noise_survives_a_copied_state_and_a_windowed_learner():
    windows, observers = Immediate(LSTM, window=8), {"scaled": Scaled(LSTM)}
    windowed = watch(windows, PARAMS, X, Y, observers=observers, seeds=[3, 11])
    drawn = fixed_noise((3, 11), 4, LIKE)
    for ours, theirs in zip(windowed.series("of scaled"), windowed.gradients, strict=True):
        share = drawn.mean(-1)[:, None, None]
        torch.testing.assert_close(ours["W_ih"], share * theirs["W_ih"])
    state = windowed.result.state.copy()
    assert torch.equal(state.buffers["of scaled"]["fixed_noise"], drawn)
    assert "fixed_noise" not in state.learners["of scaled"]


@pytest.mark.parametrize("asks", [True, False])
def test_only_a_learner_that_asks_is_given_the_outputs_cotangent(asks):
    @dataclass(frozen=True)
    class Asking(Learner):
        stride, reads_outputs = 1, asks

        def gradient(self, carry, params, step):
            # The readout's bias has dL/dy as its gradient; b_h is as long as the gates.
            assert ("outputs_cotangent" in step) == asks
            outputs_cotangent = step["outputs_cotangent"] if asks else params["b_out"]
            return carry, {"b_h": torch.nn.functional.pad(outputs_cotangent, (0, 18))}

    scored = torch.arange(24) != 2
    watched = watch(Asking(LSTM), PARAMS, X, Y, rate=0.05, scored=scored)
    for gradient in watched.gradients if asks else []:
        assert torch.equal(gradient["b_h"][:, :2], gradient["b_out"])
    assert not asks or not watched.gradients[2]["b_h"].any()
    assert watched.gradients[3]["b_h"].any()
