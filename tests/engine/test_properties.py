"""What holds of every learner on every kind of network: company, cuts, precision, masks, observers.

Without `-m full` each learner and each network is met once or twice.
"""

import functools
import itertools

import numpy as np
import pytest
import torch
from harness import (
    CARRYING,
    LEARNED,
    LEARNERS,
    NETWORKS,
    RATES,
    SEGMENT,
    SQUARED_ERROR,
    STEPS,
    Counting,
    Drawing,
    Recorder,
    Smoothing,
    adapt,
    distance,
    everything,
    fits,
    in_full,
    make_learner,
    make_loop,
    make_optimizer,
    networks,
    ran,
    same,
    stream,
    watch,
)

from orla.engine.loop import Loop
from orla.engine.state import step_noise
from orla.learners.rtrl import RTRL
from orla.learners.trace import Trace
from orla.optimizers.adam import Adam
from orla.optimizers.sgd import SGD
from orla.programs import compiling
from orla.study.batches import models_at


def pairs(turn):
    """Half of the pairs that differ in what is carried; other properties take the other half."""
    return pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING[turn::2]))


# Exact RTRL has two ways to compute the products with P.
KERNELS = [(kind, "rtrl", True) for kind in ("rnn", "lstm")]
# What these carry over the start of a trial, each cuts off by itself.
FACTORED = [("rnn", name) for name in ("uoro", "kf-rtrl")]


def products(turn):
    """The same, with both of the products."""
    plain, some = ([(*pair, False) for pair in e] for e in (LEARNED, CARRYING[turn::2] + FACTORED))
    names = ("kind", "name", "kernels")
    return pytest.mark.parametrize(names, in_full([*plain, *KERNELS], [*some, *KERNELS]))


SHORT = 16  # steps, in segments of eight
TWO = RATES[:2]


def of(params, model):
    return {name: p[model] for name, p in params.items()}


def given(kind, name, models=2):
    """The network, its lively parameters and the learner."""
    architecture, _ = NETWORKS[kind]
    return architecture, networks(architecture, models), make_learner(name, architecture)


@pairs(0)
def test_a_model_does_not_depend_on_its_company(kind, name):
    """In a batch of one size its bits are its own, whatever becomes of the other models.

    Elsewhere to rounding: PyTorch's own sums add in an order that depends on a tensor's place in
    memory. In the compiled loops a model's place changes no bit (test_compiling.py).
    """
    together, wild, one = ran(kind, name), RATES.clone(), torch.tensor([1])
    _, params, _ = given(kind, name, 3)
    wild[1] = 1e200
    diverging = adapt(make_loop(name, kind), params, wild, *stream(STEPS))
    assert not np.isfinite(diverging.errors[1]).all()
    for model in (0, 2):
        assert same(of(diverging.state.params, model), of(together.state.params, model))
        assert np.array_equal(diverging.errors[model], together.errors[model])
    single = models_at(params, one)
    alone = adapt(make_loop(name, kind), single, RATES[one], *stream(STEPS), seeds=[1])
    for n, p in alone.state.params.items():
        torch.testing.assert_close(p[0], together.state.params[n][1], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(alone.errors[0], together.errors[1], rtol=1e-9)
    assert not same(of(alone.state.params, 0), of(together.state.params, 0))


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED))
def test_single_precision_is_close_to_double_by_the_same_code(kind, name):
    (X, Y), (_, params, _) = stream(SEGMENT), given(kind, name, 3)
    own, params = make_loop(name, kind, SGD()), {n: p.float() for n, p in params.items()}
    single = adapt(own, params, RATES.float(), X.float(), Y.float())
    double = adapt(own, {n: p.double() for n, p in params.items()}, RATES, X, Y)
    assert single.errors.dtype == np.float32
    assert not torch.equal(single.state.params["W_out"].double(), double.state.params["W_out"])
    for n, p in single.state.params.items():
        assert p.dtype == torch.float32
        torch.testing.assert_close(p.double(), double.state.params[n], rtol=1e-3, atol=1e-3)


def carrying(name, kind, only=None):
    """A loop of which every part carries something; its blocks end within segments."""
    architecture, _, learner = given(kind, name)
    observers = {
        "rtrl": RTRL(architecture, block=7),
        "trace": Trace(architecture, decay=0.7),
        "drawing": Drawing(architecture),
        "own stride": Drawing(architecture, numbers=3, window=learner.stride),
    }
    watching = {n: o for n, o in observers.items() if n == (only or n)}
    parts = {"observers": watching, "interventions": [Smoothing()]}
    probes = [Counting(), Recorder()]
    return Loop(learner, Adam(), SQUARED_ERROR, **parts, probes=probes, segment=8, passes=200)


def in_pieces(own, params, X, Y, cuts):
    """States at the cuts, the last one, errors and series of a run that goes on from copies."""
    state, states, errors, series = own.start(params), [], [], []
    for start, stop in itertools.pairwise([0, *cuts, len(X)]):
        result = adapt(own, params, TWO, X[start:stop], Y[start:stop], state=state)
        errors.append(result.errors)
        series.append(result.series)
        state, gone = result.state.copy(), result.state
        states.append(state.copy())
        for leaf in [*gone.params.values(), gone.network]:
            leaf.fill_(torch.nan)  # the copy shares nothing with what it was made from
    joined = {name: np.concatenate([s[name] for s in series], 1) for name in series[0]}
    return states, np.concatenate(errors, 1), joined


# On every pair the learner's own state; on these what observers carry as well.
WATCHED = [("lstm", "rtrl"), ("rnn", "tbptt-6-4"), ("rnn", "immediate")]


@pairs(1)
def test_stopped_after_any_update_it_goes_on_with_the_same_bits(kind, name):
    own = carrying(name, kind, None if (kind, name) in WATCHED else "none")
    (X, Y), (_, params, _) = stream(SHORT), given(kind, name)
    before = {n: p.clone() for n, p in params.items()}
    whole = adapt(own, params, TWO, X, Y, snapshots=[8])
    assert same(params, before) and list(whole.snapshots) == [8]
    # Early, and around the end of a segment and of blocks.
    cuts = [t for t in (4, 7, 8, 13, 14) if t % own.learner.stride == 0]
    states, errors, series = in_pieces(own, params, X, Y, cuts)
    assert same(everything(states[-1]), everything(whole.state))
    assert np.array_equal(errors, whole.errors) and same(series, whole.series)
    at = states[cuts.index(8)]
    assert at.step == 8 and same((at.params, at.network), whole.snapshots[8])
    assert not same(at.params, whole.state.params)
    assert (np.diff(whole.series["so far errors"]) > 0).all()


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "only", "cuts"), [("rtrl", "drawing", [4, 14]), ("tbptt-6-4", "trace", [4, 8])]
)
def test_compiled_it_goes_on_with_the_same_bits_and_observers_never_drive(name, only, cuts):
    own, (X, Y), (_, params, _) = carrying(name, "rnn", only), stream(SHORT), given("rnn", name)
    compiling.configure(compile=True)
    try:
        whole = adapt(own, params, TWO, X, Y)
        states, errors, series = in_pieces(own, params, X, Y, cuts)
        bare = adapt(carrying(name, "rnn", "none"), params, TWO, X, Y)
    finally:
        compiling.configure(compile=False)
    assert same(everything(states[-1]), everything(whole.state))
    assert np.array_equal(errors, whole.errors) and same(series, whole.series)
    assert same(bare.state.params, whole.state.params)
    eager = adapt(carrying(name, "rnn", only), params, TWO, X, Y)
    np.testing.assert_allclose(eager.errors, errors, rtol=1e-9)


@functools.cache
def watched():
    """A loop, its networks, a whole run and the state in its midst."""
    own, params = carrying("rtrl", "lstm"), networks(NETWORKS["lstm"][0])
    X, Y = stream(SHORT)
    whole, half = (adapt(own, params, TWO, X[:n], Y[:n]) for n in (SHORT, 13))
    return own, params, whole, half.state


LOST = ("params", "network", "optimizer", "interventions", "probes", "buffers", "seeds", "step")


@pytest.mark.parametrize("lost", [*LOST, "own", "of rtrl", "of trace"])
def test_resuming_from_a_state_that_lost_an_entry_changes_the_run(lost):
    """The negative control: a state with one entry as it was at the start."""
    own, params, whole, half = watched()
    (X, Y), state = stream(SHORT), half.copy()
    fresh = own.start(params, seeds=[5, 6])
    if lost in state.learners:
        state.learners[lost] = fresh.learners[lost]
    else:
        setattr(state, lost, getattr(fresh, lost))
    rest = adapt(own, params, TWO, X[13:], Y[13:], state=state)
    ends = [
        [everything(run.state), {n: v[:, -1] for n, v in run.series.items()}]
        for run in (rest, whole)
    ]
    assert not same(*ends)


@pairs(0)
def test_an_observer_answers_what_it_would_as_the_driver_and_never_drives(kind, name):
    """Under itself, among others; and one that answers at each step, under immediate learning."""
    architecture, params, learner = given(kind, name)
    X, Y = stream(SHORT)
    bare = watch(learner, params, X, Y, rate=0.05).result
    made = {n: make_learner(n, architecture) for n in LEARNERS if fits(architecture, n)}
    fitting = [(n, o) for n, o in made.items() if o.stride in (1, learner.stride)]
    if (kind, name) != ("rnn", "tbptt-4-1"):  # of which every step learner watches
        first = LEARNED.index((kind, name))
        fitting = [pair for i, pair in enumerate(fitting) if (i - first) % 5 == 0]
    watching = {"observers": dict(fitting) | {"twin": learner}, "probes": [Counting()]}
    run = watch(learner, params, X, Y, rate=0.05, **watching)
    assert same(run.series("of twin"), run.gradients)
    for own in ("params", "network", "optimizer"):
        assert same(getattr(bare.state, own), getattr(run.result.state, own))
    assert same(bare.state.learners["own"], run.result.state.learners["own"])
    assert np.array_equal(bare.errors, run.result.errors)
    assert run.result.series["so far errors"].shape == (2, SHORT // learner.stride)
    if learner.stride > 1:
        return
    driver = make_learner("immediate", architecture)
    run = watch(driver, params, X, Y, observers={"twin": learner})
    own = watch(learner, params, X, Y)
    assert distance(run.model(1, "of twin")[0], own.model(1)[0]) < 1e-12
    if name not in ("immediate", "last-layer"):
        assert distance(run.model(1, "of twin")[0], run.model(1)[0]) > 1e-3


BY_STEP = [(k, n) for k, n in LEARNED if make_learner(n, NETWORKS[k][0]).stride == 1]
WINDOWED = [n for n in LEARNERS if n.endswith("-8") or n == "tbptt-6-4"]
IN_TURN = [
    (*pair, n)
    for pair, n in zip(CARRYING[1::2] + FACTORED, itertools.cycle(WINDOWED), strict=False)
]


@pytest.mark.parametrize(
    ("kind", "name", "driver"),
    in_full([(*p, n) for p, n in itertools.product(BY_STEP, WINDOWED)], IN_TURN),
)
def test_under_windows_a_step_learner_is_that_run_by_hand(kind, name, driver):
    """Driven alone, its weights set anew at each window to those that the driver had there."""
    architecture, params, learner = given(kind, name)
    (X, Y), windowed = stream(SHORT), make_learner(driver, architecture)
    run = watch(windowed, params, X, Y, rate=0.05, observers={"steps": learner})
    assert not same(run.series("params")[0], run.series("params")[-1])
    loop = Loop(learner, make_optimizer("sgd"), SQUARED_ERROR, probes=[Recorder()], segment=1)
    state, stride, sums = loop.start(params), windowed.stride, []
    for update, weights in enumerate(run.series("params")):
        state.params = {n: p.clone() for n, p in weights.items()}
        part = slice(update * stride, (update + 1) * stride)
        series = adapt(loop, None, 0.0 * TWO, X[part], Y[part], state=state).series
        gradients = {n: v for n, v in series.items() if n.startswith("gradient ")}
        sums.append({n.partition(" ")[2]: torch.as_tensor(v).sum(1) for n, v in gradients.items()})
    ours = run.series("of steps")
    assert set(ours[0]) == set(sums[0]) and distance(ours, sums) < 1e-11
    assert distance(ours, [{n: g / stride for n, g in one.items()} for one in sums]) > 1e-2


def own_streams(steps=SHORT):
    """(steps, models, ...) inputs, targets and masks of two models."""
    X, Y = (torch.stack(both, 1) for both in zip(stream(steps, 0), stream(steps, 1), strict=True))
    scored = torch.rand(steps, 2, generator=torch.Generator().manual_seed(3)) < 0.7
    starts = torch.zeros(steps, 2, dtype=torch.bool)
    starts[[5, 11], 0] = starts[[8, 13, 14], 1] = True
    return X, Y, scored, starts


@products(0)
def test_a_model_with_a_stream_of_its_own_is_as_it_is_alone(kind, name, kernels, request):
    if kernels:
        request.getfixturevalue("with_kernels")
    X, Y, scored, starts = own_streams()
    _, params, learner = given(kind, name)
    loop = Loop(learner, Adam(), SQUARED_ERROR, probes=[Counting(), Recorder()], segment=8)
    together = adapt(loop, params, TWO, X, Y, scored=scored, starts=starts)
    cut = loop.start(params)
    for part in (slice(0, 8), slice(8, SHORT)):
        masks = {"scored": scored[part], "starts": starts[part]}
        adapt(loop, None, TWO, X[part], Y[part], state=cut, **masks)
    assert same(everything(cut), everything(together.state))
    for model in range(2):
        one = torch.tensor([model])
        x, y, some, begins = (t[:, model].contiguous() for t in (X, Y, scored, starts))
        masks = {"scored": some, "starts": begins}
        alone = adapt(loop, models_at(params, one), TWO[one], x, y, seeds=[model], **masks)
        np.testing.assert_allclose(alone.errors[0], together.errors[model], rtol=1e-9)
        for n, p in alone.state.params.items():
            torch.testing.assert_close(p[0], together.state.params[n][model], rtol=1e-9, atol=1e-11)
        for n, values in alone.series.items():
            theirs = together.series[n][model]
            np.testing.assert_allclose(values[0], theirs, rtol=1e-7, atol=1e-9)
    exchanged = adapt(loop, params, TWO, X[:8].flip(1), Y[:8].flip(1))
    assert not np.allclose(exchanged.errors, together.errors[:, :8])


def draws(begun, seeds, first, *more):
    """The random numbers of a run that begins `begun` steps late."""
    return step_noise(seeds, begun + first, *more)


@products(1)
def test_a_start_lets_nothing_through(kind, name, kernels, request, monkeypatch):
    """Within a window or block too; where an update begins with it the run is one of its own."""
    if kernels:
        request.getfixturevalue("with_kernels")
    _, params, learner = given(kind, name)
    (X, Y), start = stream(SHORT), 9
    starts, scored = (torch.arange(SHORT) == start), torch.arange(SHORT) >= start
    other = torch.cat([3.0 * X[:start].flip(0), X[start:]])
    through = {"scored": scored, "segment": 8, "rate": 0.05}
    for masks, alike in (({"starts": starts}, True), ({}, False)):
        runs = [watch(learner, params, x, Y, **through, **masks).model(1)[0] for x in (X, other)]
        assert (distance(*runs) < 1e-12) == alike and (distance(*runs) > 1e-3) != alike
    run = watch(learner, params, X, Y, starts=torch.arange(SHORT) == 8, segment=8)
    with monkeypatch.context() as drawn_later:  # what it draws in the run of all
        drawn_later.setattr("orla.engine.update.step_noise", functools.partial(draws, 8))
        alone = watch(learner, params, X[8:], Y[8:])
    after = 8 // learner.stride
    for model in range(2):
        ours = run.model(model)[0][after:]
        assert distance(ours, alone.model(model)[0]) < 1e-10


@pairs(1)
def test_unscored_steps_have_no_error_and_no_gradient(kind, name):
    (X, Y), (_, params, learner) = stream(SHORT), given(kind, name)
    scored = own_streams()[2][:, 0].contiguous()
    scored[8:16] = False  # a whole window of eight
    go = functools.partial(watch, learner, params, X, rate=0.05, segment=8)
    ours = go(Y, scored=scored)
    theirs = go(torch.where(scored[:, None], Y, 1e3 * Y.flip(0)), scored=scored)
    assert same(ours.gradients, theirs.gradients)
    errors = ours.result.errors
    assert (errors[:, ~scored.numpy()] == 0).all() and (errors[:, scored.numpy()] > 0).all()
    for update, gradient in enumerate(ours.gradients):
        steps = scored[update * learner.stride : (update + 1) * learner.stride]
        assert any(g.any() for g in gradient.values()) == bool(steps.any())
    counted, all_scored = go(Y), go(Y, scored=torch.ones_like(scored))
    assert not same(ours.gradients, counted.gradients)
    assert distance(all_scored.model(0)[0], counted.model(0)[0]) < 1e-12
