"""Learners that watch: what they answer, that they never drive, and what the loop refuses."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from harness import (
    CARRYING,
    LEARNED,
    LEARNERS,
    NETWORKS,
    SQUARED_ERROR,
    Counting,
    Recorder,
    Smoothing,
    adapt,
    distance,
    fits,
    in_full,
    make_learner,
    make_loop,
    networks,
    same,
    stream,
    watch,
)

from orla import catalogue
from orla.engine.loop import Loop
from orla.engine.windows import Windows
from orla.errors import OrlaError
from orla.interventions.base import Intervention
from orla.interventions.match_norm import MatchNorm
from orla.learners.rtrl import RTRL
from orla.optimizers.adam import Adam
from orla.probes.past_gradient import PastGradient
from orla.programs import compiling

STEPS = 24
RATES = torch.tensor([0.01, 0.03], dtype=torch.float64)


def fitting(learner, architecture):
    """Every learner that may watch `learner`, by name."""
    made = {n: make_learner(n, architecture) for n in LEARNERS if fits(architecture, n)}
    return {name: o for name, o in made.items() if o.stride in (1, learner.stride)}


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_observers_and_probes_never_drive(kind, name):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params, learner = networks(architecture), make_learner(name, architecture)
    bare = adapt(make_loop(name, kind), params, RATES, X, Y)
    observers = fitting(learner, architecture)
    if (kind, name) != ("rnn", "tbptt-4-1"):  # of which every step learner watches
        first = LEARNED.index((kind, name))
        observers = {n: o for i, (n, o) in enumerate(observers.items()) if (i - first) % 5 == 0}
    watching = {"observers": observers, "probes": [Counting(), Recorder()]}
    watched = adapt(make_loop(name, kind, **watching), params, RATES, X, Y)
    for own in ("params", "network", "optimizer"):
        assert same(getattr(bare.state, own), getattr(watched.state, own))
    assert same(bare.state.learners["own"], watched.state.learners["own"])
    assert np.array_equal(bare.errors, watched.errors)
    assert bare.series == {}
    assert watched.series["so far errors"].shape == (2, STEPS // learner.stride)


def test_an_intervention_does_drive():
    """The negative control of the test above."""
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture)
    results = [
        adapt(make_loop("immediate", "rnn", interventions=chain), params, RATES, X, Y)
        for chain in ([], [Smoothing()])
    ]
    assert not same(*(result.state.params for result in results))


@dataclass(frozen=True)
class Plus(Intervention):
    """Adds to every entry of a gradient."""

    added: float

    def update(self, gradients, state, params):
        return {name: g + self.added for name, g in gradients.own.items()}, state


def test_an_intervention_is_given_what_the_one_before_it_answered():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    learner, params = make_learner("immediate", architecture), networks(architecture)
    chain = [Plus(1.0), Plus(10.0), Plus(100.0)]
    watched = watch(learner, params, X, Y, rate=0.001, interventions=chain)
    for given, learned in zip(watched.gradients, watched.series("learned"), strict=True):
        for name, g in given.items():
            torch.testing.assert_close(g, learned[name] + 111.0)


@pytest.mark.parametrize(("observer", "apart"), [("tbptt-6-1", True), ("rtrl", False)])
def test_gradient_and_update_are_compiled_apart_where_any_learner_loops(observer, apart):
    architecture, _ = NETWORKS["rnn"]
    observers = {"full": make_learner(observer, architecture)}
    step = make_learner("immediate", architecture)
    driver = Loop(step, Adam(), SQUARED_ERROR, observers=observers).driver
    assert isinstance(driver, Windows) is apart


@pytest.mark.full
def test_compiled_observers_never_drive():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture)
    watching = {"observers": {"rtrl": RTRL(architecture, block=10)}, "probes": [Counting()]}
    compiling.configure(compile=True)
    try:
        bare, watched = (
            adapt(make_loop("immediate", "rnn", **parts), params, RATES, X, Y)
            for parts in ({}, watching)
        )
    finally:
        compiling.configure(compile=False)
    assert same(bare.state.params, watched.state.params)
    assert np.array_equal(bare.errors, watched.errors)
    assert watched.series["so far observed"].any()


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_an_observer_answers_what_it_would_as_the_driver(kind, name):
    """Under itself, and where it answers at each step under plain immediate learning."""
    architecture, _ = NETWORKS[kind]
    X, Y = stream(24)
    params, learner = networks(architecture), make_learner(name, architecture)
    watched = watch(learner, params, X, Y, rate=0.05, observers={"twin": learner})
    assert same(watched.series("of twin"), watched.gradients)
    if learner.stride > 1:
        return
    driver = make_learner("immediate", architecture)
    watched = watch(driver, params, X, Y, rate=0.0, observers={"twin": learner})
    own = watch(learner, params, X, Y, rate=0.0)
    assert distance(watched.model(1, "of twin")[0], own.model(1)[0]) < 1e-12
    if name not in ("immediate", "last-layer"):
        assert distance(watched.model(1, "of twin")[0], watched.model(1)[0]) > 1e-3


BY_STEP = [(k, n) for k, n in LEARNED if make_learner(n, NETWORKS[k][0]).stride == 1]
WINDOWED = [n for n in LEARNERS if n.endswith("-8") or n == "tbptt-6-4"]
IN_TURN = [(*pair, n) for pair, n in zip(CARRYING, itertools.cycle(WINDOWED), strict=False)]


@pytest.mark.parametrize(
    ("kind", "name", "driver"),
    in_full([(*p, n) for p, n in itertools.product(BY_STEP, WINDOWED)], IN_TURN),
)
def test_under_windows_a_step_learner_is_that_run_by_hand(kind, name, driver):
    """Driven alone, its weights set anew at each window to those that the driver had there."""
    architecture, _ = NETWORKS[kind]
    X, Y = stream(24)
    params = networks(architecture)
    windowed, learner = make_learner(driver, architecture), make_learner(name, architecture)
    watched = watch(windowed, params, X, Y, rate=0.05, observers={"steps": learner})
    assert not same(watched.series("params")[0], watched.series("params")[-1])
    loop = Loop(
        learner, catalogue.make("optimizer", "sgd"), SQUARED_ERROR, probes=[Recorder()], segment=1
    )
    state, stride, sums = loop.start(params), windowed.stride, []
    for update, weights in enumerate(watched.series("params")):
        state.params = {n: p.clone() for n, p in weights.items()}
        part = slice(update * stride, (update + 1) * stride)
        series = adapt(loop, None, 0.0 * RATES, X[part], Y[part], state=state).series
        sums.append(
            {
                n.removeprefix("gradient "): torch.as_tensor(values).sum(1)
                for n, values in series.items()
                if n.startswith("gradient ")
            }
        )
    ours = watched.series("of steps")
    assert set(ours[0]) == set(sums[0])
    assert distance(ours, sums) < 1e-11
    assert distance(ours, [{n: g / stride for n, g in one.items()} for one in sums]) > 1e-2


def refused(match, *arguments, **options):
    with pytest.raises(OrlaError, match=match) as refusal:
        Loop(*arguments, SQUARED_ERROR, **options)
    assert "\n" not in str(refusal.value)


def test_what_does_not_fit_is_refused():
    architecture, _ = NETWORKS["rnn"]
    window = make_learner("tbptt-8-8", architecture)
    step = make_learner("immediate", architecture)
    refused("segment of 20 .* every 8 steps", window, Adam(), segment=20)
    four = make_learner("tbptt-6-4", architecture)
    refused("observer a answers every 4", window, Adam(), observers={"a": four}, segment=24)
    refused("observer a answers every 8", step, Adam(), observers={"a": window})
    refused(
        "match-norm reads the observer 'full', which is not",
        step,
        Adam(),
        interventions=[MatchNorm("full")],
        observers={"ful": step},
    )
    refused(
        "past_gradient reads the observer 'rtrl'", step, Adam(), probes=[PastGradient(full="rtrl")]
    )
    Loop(step, Adam(), SQUARED_ERROR, probes=[PastGradient(full="rtrl")], observers={"rtrl": step})
    Loop(window, Adam(), SQUARED_ERROR, observers={"a": window, "b": step}, segment=24)
