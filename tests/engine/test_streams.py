"""Streams of one's own, trials that start afresh, and steps that are not scored."""

import functools
import itertools

import numpy as np
import pytest
import torch
from harness import (
    CARRYING,
    LEARNED,
    NETWORKS,
    SQUARED_ERROR,
    Counting,
    Recorder,
    adapt,
    distance,
    everything,
    in_full,
    make_learner,
    networks,
    same,
    stream,
    watch,
)

from orla.engine.loop import Loop
from orla.engine.state import noise
from orla.learners.tbptt import TBPTT
from orla.optimizers.adam import Adam
from orla.study.batches import models_at

STEPS, SEGMENT = 24, 8
RATES = torch.tensor([0.01, 0.03], dtype=torch.float64)


def own_streams(steps=STEPS):
    """(steps, models, ...) inputs, targets and masks of two models."""
    X, Y = (torch.stack(both, 1) for both in zip(stream(steps, 0), stream(steps, 1), strict=True))
    generator = torch.Generator().manual_seed(3)
    scored = torch.rand(steps, 2, generator=generator) < 0.7
    starts = torch.zeros(steps, 2, dtype=torch.bool)
    starts[[5, 19], 0] = starts[[8, 20, 21], 1] = True
    return X, Y, scored, starts


# Exact RTRL has two ways to compute the products with P; networks without structure have one.
KERNELS = [(kind, "rtrl", "kernels") for kind in ("rnn", "lstm")]
EVERY = [*((*pair, "plain") for pair in LEARNED), *KERNELS]
CARRIED = in_full(EVERY, [*((*pair, "plain") for pair in CARRYING), *KERNELS])


@pytest.mark.parametrize("kind, name, products", CARRIED)
def test_a_model_with_a_stream_of_its_own_is_as_it_is_alone(kind, name, products, request):
    architecture, _ = NETWORKS[kind]
    if products == "kernels":
        request.getfixturevalue("with_kernels")
    X, Y, scored, starts = own_streams()
    params, learner = networks(architecture), make_learner(name, architecture)
    loop = Loop(learner, Adam(), SQUARED_ERROR, probes=[Counting(), Recorder()], segment=SEGMENT)
    together = adapt(loop, params, RATES, X, Y, scored=scored, starts=starts)
    for model in range(2):
        one = torch.tensor([model])
        given = (t[:, model].contiguous() for t in (X, Y, scored, starts))
        shared = dict(zip(("X", "Y", "scored", "starts"), given, strict=True))
        alone = adapt(loop, models_at(params, one), RATES[one], seeds=[model], **shared)
        np.testing.assert_allclose(alone.errors[0], together.errors[model], rtol=1e-9)
        for n, p in alone.state.params.items():
            torch.testing.assert_close(p[0], together.state.params[n][model], rtol=1e-9, atol=1e-11)
        for n, values in alone.series.items():
            theirs = together.series[n][model]
            np.testing.assert_allclose(values[0], theirs, rtol=1e-7, atol=1e-9)
    first = slice(0, SEGMENT)
    masks = {"scored": scored[first], "starts": starts[first]}
    exchanged = adapt(loop, params, RATES, X.flip(1)[first], Y.flip(1)[first], **masks)
    assert not np.allclose(exchanged.errors, together.errors[:, first])


def draws(begun, seeds, first, *given):
    """The random numbers of a run that begins `begun` steps late."""
    return noise(seeds, begun + first, *given)


@pytest.mark.parametrize("kind, name, products", CARRIED)
def test_trials_are_runs_of_their_own(kind, name, products, request, monkeypatch):
    """With frozen weights; a trial of whole updates has the gradients that it has alone."""
    architecture, _ = NETWORKS[kind]
    if products == "kernels":
        request.getfixturevalue("with_kernels")
    X, Y = stream(STEPS)
    cuts = [0, 8, 16, STEPS]
    starts = torch.zeros(STEPS, dtype=torch.bool)
    starts[cuts[1:-1]] = True
    params, learner = networks(architecture), make_learner(name, architecture)
    run = watch(learner, params, X, Y, starts=starts, segment=SEGMENT)
    alone = []
    for first, stop in itertools.pairwise(cuts):
        with monkeypatch.context() as drawn_later:  # what it draws in the run of all
            drawn_later.setattr("orla.engine.update.noise", functools.partial(draws, first))
            alone.append(watch(learner, params, X[first:stop], Y[first:stop]))
    for model in range(2):
        trials = [gradient for trial in alone for gradient in trial.model(model)[0]]
        assert distance(run.model(model)[0], trials) < 1e-10
    # The negative control: without starts the past and the state run on.
    on = watch(learner, params, X, Y, segment=SEGMENT)
    assert distance(on.model(0)[0], run.model(0)[0]) > 1e-3


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_a_start_anywhere_lets_nothing_through(kind, name):
    """What came before a start, within a window or block too, changes nothing after it."""
    architecture, _ = NETWORKS[kind]
    start = 13
    X, Y = stream(STEPS)
    starts = torch.zeros(STEPS, dtype=torch.bool)
    starts[start] = True
    scored = torch.arange(STEPS) >= start
    other = X.clone()
    other[:start] = 3.0 * X[:start].flip(0)
    params, learner = networks(architecture), make_learner(name, architecture)
    masks = {"scored": scored, "starts": starts}
    ours, theirs = (
        watch(learner, params, x, Y, rate=0.05, segment=SEGMENT, **masks) for x in (X, other)
    )
    assert distance(ours.model(1)[0], theirs.model(1)[0]) < 1e-12
    assert np.array_equal(ours.result.errors[:, :start], np.zeros((2, start)))
    leaking = [
        watch(learner, params, x, Y, rate=0.05, segment=SEGMENT, scored=scored) for x in (X, other)
    ]
    assert distance(*(run.model(1)[0] for run in leaking)) > 1e-3


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_unscored_steps_have_no_error_and_no_gradient(kind, name):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    scored = own_streams()[2][:, 0].contiguous()
    scored[8:16] = False  # a whole window of eight
    params, learner = networks(architecture), make_learner(name, architecture)
    ours = watch(learner, params, X, Y, rate=0.05, segment=SEGMENT, scored=scored)
    spoiled = torch.where(scored[:, None], Y, 1e3 * Y.flip(0))
    theirs = watch(learner, params, X, spoiled, rate=0.05, segment=SEGMENT, scored=scored)
    assert same(ours.gradients, theirs.gradients)
    errors = ours.result.errors
    assert (errors[:, ~scored.numpy()] == 0).all() and (errors[:, scored.numpy()] > 0).all()
    for update, gradient in enumerate(ours.gradients):
        steps = scored[update * learner.stride : (update + 1) * learner.stride]
        assert any(g.any() for g in gradient.values()) == bool(steps.any())
    counted = watch(learner, params, X, Y, rate=0.05, segment=SEGMENT)
    assert not same(ours.gradients, counted.gradients)
    all_scored = watch(
        learner, params, X, Y, rate=0.05, segment=SEGMENT, scored=torch.ones_like(scored)
    )
    assert distance(all_scored.model(0)[0], counted.model(0)[0]) < 1e-12


def test_a_stream_with_masks_is_the_same_wherever_it_is_cut():
    architecture, _ = NETWORKS["lstm"]
    X, Y, scored, starts = own_streams()
    params = networks(architecture)
    loop = Loop(TBPTT(architecture, 6, 4), Adam(), SQUARED_ERROR, segment=SEGMENT)
    whole = adapt(loop, params, RATES, X, Y, scored=scored, starts=starts)
    state = loop.start(params)
    for part in (slice(0, 8), slice(8, 20), slice(20, STEPS)):
        given = (t[part] for t in (X, Y, scored, starts))
        adapt(
            loop,
            None,
            RATES,
            **dict(zip(("X", "Y", "scored", "starts"), given, strict=True)),
            state=state,
        )
    assert same(everything(state), everything(whole.state))
