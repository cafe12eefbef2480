"""A model's random numbers follow from its seed and the step alone."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from harness import NETWORKS, SQUARED_ERROR, Drawing, Recorder, adapt, networks, same, stream, watch
from torch.utils import _pytree as pytree

from orla.engine.loop import Loop
from orla.engine.state import DRAWN_TOGETHER, fixed_noise, noise
from orla.learners.base import Learner
from orla.learners.immediate import Immediate
from orla.optimizers.adam import Adam
from orla.study.batches import models_at

LIKE = torch.zeros((), dtype=torch.float64)
LSTM = NETWORKS["lstm"][0]


def test_numbers_do_not_depend_on_who_asks_when():
    whole = noise((4, 7), 0, 500, 3, LIKE)
    assert whole.shape == (500, 2, 3)
    pieces = [(0, 1), (1, 198), (199, 2), (201, 250), (451, 49)]
    cut = torch.cat([noise((4, 7), first, steps, 3, LIKE) for first, steps in pieces])
    assert torch.equal(whole, cut)
    assert torch.equal(noise((1, 7, 4), 450, 9, 3, LIKE)[:, 1:], whole[450:459].flip(1))
    single = noise((4, 7), 0, 500, 3, LIKE.float())
    assert single.dtype == torch.float32 and torch.equal(single, whole.float())


def test_numbers_differ_by_seed_step_and_place_and_are_uniform():
    drawn = noise(tuple(range(40)), 0, 3 * DRAWN_TOGETHER, 5, LIKE)
    assert (drawn >= 0).all() and (drawn < 1).all()
    assert len(drawn.unique()) == drawn.numel()
    assert abs(float(drawn.mean()) - 0.5) < 0.005 and abs(float(drawn.var()) - 1 / 12) < 0.002
    correlations = np.corrcoef(drawn.permute(1, 0, 2).flatten(1).numpy())[np.triu_indices(40, 1)]
    assert abs(correlations).max() < 0.1


def factors(watched, model):
    """What the gradients were multiplied by, as the immediate observer tells."""
    ours, _ = watched.model(model)
    plain, _ = watched.model(model, "of plain")
    return [float(g["W_ih"].norm() / p["W_ih"].norm()) for g, p in zip(ours, plain, strict=True)]


@pytest.mark.parametrize("window", [1, 8])
def test_a_learner_is_given_the_numbers_of_its_model_and_step(window):
    X, Y = stream(24)
    learner = Drawing(LSTM, numbers=3, window=window)
    observers = {"plain": Immediate(LSTM, window=window)}
    params = networks(LSTM)
    watched = watch(learner, params, X, Y, observers=observers, seeds=[3, 11], segment=8)
    drawn = noise((3, 11), 0, 24, 3, LIKE).mean(-1)
    if window == 1:
        for model in range(2):
            assert factors(watched, model) == pytest.approx(drawn[:, model].tolist(), rel=1e-9)
    others = watch(learner, params, X, Y, observers=observers, seeds=[3, 12], segment=8)
    assert same(watched.model(0), others.model(0))
    assert not same(watched.model(1)[0], others.model(1)[0])
    assert same(watched.model(1, "of plain"), others.model(1, "of plain"))


@pytest.mark.parametrize("window", [1, 8])
def test_neither_cuts_nor_neighbours_change_them(window):
    X, Y = stream(48)
    learner, params = Drawing(LSTM, window=window), networks(LSTM, models=3)
    rates = torch.tensor([0.01, 0.02, 0.03], dtype=torch.float64)

    def run(segment, index=(0, 1, 2), seeds=(5, 6, 7), cuts=(48,)):
        index = torch.tensor(index)
        loop = Loop(learner, Adam(), SQUARED_ERROR, probes=[Recorder()], segment=segment)
        state, first = loop.start(models_at(params, index), seeds=[seeds[i] for i in index]), 0
        for cut in cuts:
            result = adapt(loop, None, rates[index], X[first:cut], Y[first:cut], state=state)
            first = cut
        return result.state.params

    whole = run(48)
    assert same(whole, run(8))
    assert same(whole, run(16, cuts=(8, 24, 48)))
    swapped = run(48, index=(2, 0, 1))
    for n, p in whole.items():
        torch.testing.assert_close(p[[2, 0, 1]], swapped[n], rtol=1e-9, atol=1e-12)
    assert not same(whole, run(48, seeds=(5, 6, 8)))


def test_learners_of_one_loop_that_draw_as_many_are_given_the_same_numbers():
    X, Y = stream(12)
    watched = watch(
        Drawing(LSTM), networks(LSTM), X, Y, observers={"a": Drawing(LSTM), "b": Drawing(LSTM, 4)}
    )
    assert same(watched.series("of a"), watched.gradients)
    assert not same(watched.series("of b"), watched.gradients)


@dataclass(frozen=True)
class Scaled(Learner):
    """Immediate's gradient, times the mean of numbers that each model drew once."""

    @property
    def stride(self):
        return 1

    @property
    def fixed_noise(self):
        return 4

    def gradient(self, carry, params, step):
        share = carry["fixed_noise"].mean(-1)
        _, local = self.derivatives.pull(params, step["tape"], share[:, None] * step["cotangent"])
        window = pytree.tree_map(lambda t: t[None], (step["tape"], local))
        return carry, self.derivatives.gather(*window)


def test_numbers_drawn_once_depend_on_the_seed_alone_and_are_normal():
    drawn = fixed_noise((4, 7), 3, LIKE)
    assert drawn.shape == (2, 3) and torch.equal(fixed_noise((7, 4), 3, LIKE).flip(0), drawn)
    single = fixed_noise((4,), 3, LIKE.float())
    assert single.dtype == torch.float32 and torch.equal(single[0], drawn[0].float())
    many = fixed_noise(tuple(range(60)), 200, LIKE)
    assert len(many.unique()) == many.numel()
    assert abs(float(many.mean())) < 0.03 and abs(float(many.var()) - 1) < 0.05
    assert float(many.min()) < -2.5 and float(many.max()) > 2.5
    apart = np.corrcoef(many[:40], noise(tuple(range(40)), 0, 1, 200, LIKE)[0])
    assert abs(apart[:40, 40:]).max() < 0.4


def test_a_learner_is_given_its_models_numbers_at_every_step():
    X, Y = stream(24)
    observers, params = {"plain": Immediate(LSTM)}, networks(LSTM)
    runs = [
        watch(Scaled(LSTM), params, X, Y, observers=observers, seeds=seeds, segment=8)
        for seeds in ([3, 11], [3, 12])
    ]
    drawn = fixed_noise((3, 11), 4, LIKE).mean(-1).abs()
    for model in range(2):
        assert factors(runs[0], model) == pytest.approx([float(drawn[model])] * 24, rel=1e-9)
    assert same(runs[0].model(0), runs[1].model(0))
    assert not same(runs[0].model(1)[0], runs[1].model(1)[0])


def test_an_observer_keeps_its_numbers_through_copies_and_windows():
    X, Y = stream(24)
    params = networks(LSTM)
    windowed = watch(
        Immediate(LSTM, window=8), params, X, Y, observers={"scaled": Scaled(LSTM)}, seeds=[3, 11]
    )
    plain = windowed.gradients
    share = fixed_noise((3, 11), 4, LIKE).mean(-1)
    for ours, theirs in zip(windowed.series("of scaled"), plain, strict=True):
        torch.testing.assert_close(ours["W_ih"], share[:, None, None] * theirs["W_ih"])
    loop = Loop(Scaled(LSTM), Adam(), SQUARED_ERROR, segment=8)
    state = loop.start(params, seeds=[3, 11])
    kept = state.copy().buffers["own"]["fixed_noise"]
    assert torch.equal(kept, fixed_noise((3, 11), 4, LIKE))
    assert "fixed_noise" not in loop.start(params).learners["own"]


def test_only_a_learner_that_asks_is_given_the_outputs_cotangent():
    @dataclass(frozen=True)
    class Asking(Learner):
        asks: bool = True

        @property
        def stride(self):
            return 1

        @property
        def reads_outputs(self):
            return self.asks

        def gradient(self, carry, params, step):
            # The readout's bias has dL/dy as its gradient; b_h is as long as the gates.
            assert ("on_outputs" in step) == self.asks
            on_outputs = step["on_outputs"] if self.asks else params["b_out"]
            return carry, {"b_h": torch.nn.functional.pad(on_outputs, (0, 18))}

    X, Y = stream(6)
    scored = torch.tensor([True, True, False, True, True, True])
    watched = watch(Asking(LSTM), networks(LSTM), X, Y, rate=0.05, scored=scored)
    for gradient in watched.gradients:
        assert torch.equal(gradient["b_h"][:, :2], gradient["b_out"])
    assert not watched.gradients[2]["b_h"].any() and watched.gradients[3]["b_h"].any()
    watch(Asking(LSTM, asks=False), networks(LSTM), X, Y)
