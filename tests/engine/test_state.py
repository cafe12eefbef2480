"""A run that is stopped and goes on from a copy of its state has the bits of one that is not."""

import dataclasses
import functools

import numpy as np
import pytest
import torch
from harness import (
    CARRYING,
    LEARNED,
    NETWORKS,
    SQUARED_ERROR,
    Counting,
    Drawing,
    Recorder,
    Smoothing,
    adapt,
    everything,
    in_full,
    make_learner,
    networks,
    same,
    stream,
)

from orla.engine.loop import Loop
from orla.engine.state import State
from orla.learners.rtrl import RTRL
from orla.learners.trace import Trace
from orla.optimizers.adam import Adam
from orla.programs import compiling

RATES = torch.tensor([0.01, 0.03], dtype=torch.float64)
STEPS, SEGMENT = 32, 16


def loop(name, kind, only=None):
    """A loop of which every part carries something; its blocks end within segments."""
    architecture = NETWORKS[kind][0]
    learner = make_learner(name, architecture)
    observers = {
        "rtrl": RTRL(architecture, block=7),
        "trace": Trace(architecture, decay=0.7),
        "drawing": Drawing(architecture),
        "own stride": Drawing(architecture, numbers=3, window=learner.stride),
    }
    return Loop(
        learner,
        Adam(),
        SQUARED_ERROR,
        observers={n: o for n, o in observers.items() if n == (only or n)},
        interventions=[Smoothing()],
        probes=[Counting(), Recorder()],
        segment=SEGMENT,
        passes=200,
    )


def in_pieces(own, params, X, Y, cuts):
    """The last state, errors and series of a run that goes on from a copy after each cut."""
    state, errors, series = own.start(params), [], []
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        result = adapt(own, params, RATES, X[start:stop], Y[start:stop], state=state)
        errors.append(result.errors)
        series.append(result.series)
        state, gone = result.state.copy(), result.state
        for leaf in gone.params.values():
            leaf.fill_(torch.nan)  # the copy shares nothing with what it was made from
        gone.network.fill_(torch.nan)
    joined = {name: np.concatenate([s[name] for s in series], 1) for name in series[0]}
    return state, np.concatenate(errors, 1), joined


# On every pair the learner's own state; on these what observers carry as well.
WATCHED = [("lstm", "rtrl"), ("rnn", "tbptt-6-4"), ("rnn", "immediate")]


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_stopped_after_any_update_it_goes_on_with_the_same_bits(kind, name):
    own = loop(name, kind, None if (kind, name) in WATCHED else "none")
    X, Y = stream(STEPS)
    params = networks(NETWORKS[kind][0])
    whole = adapt(own, params, RATES, X, Y)
    updates = range(own.learner.stride, STEPS, own.learner.stride)
    # Early; every update around the end of the first segment, where a block ends as well.
    around = [step for step in updates if SEGMENT - 4 <= step <= SEGMENT + 4]
    cuts = [updates[len(updates) // 4], *around]
    state, errors, series = in_pieces(own, params, X, Y, cuts)
    assert same(everything(state), everything(whole.state))
    assert np.array_equal(errors, whole.errors)
    assert same(series, whole.series)
    assert (np.diff(whole.series["so far errors"]) > 0).all()


@functools.cache
def watched():
    """A loop, its networks, a whole run and the state in its midst."""
    own, params = loop("rtrl", "lstm"), networks(NETWORKS["lstm"][0])
    X, Y = stream(STEPS)
    whole, half = (adapt(own, params, RATES, X[:n], Y[:n]) for n in (STEPS, 17))
    return own, params, whole, half.state


@pytest.mark.parametrize(
    "lost",
    [
        *(field.name for field in dataclasses.fields(State) if field.name != "learners"),
        *("own", "of rtrl", "of trace"),  # the others carry nothing
    ],
)
def test_whatever_is_lost_on_the_way_is_noticed(lost):
    """The negative control: a state with one entry as it was at the start."""
    own, params, whole, half = watched()
    (X, Y), state = stream(STEPS), half.copy()
    fresh = own.start(params, seeds=[5, 6])
    if lost in state.learners:
        state.learners[lost] = fresh.learners[lost]
    else:
        state = dataclasses.replace(state, **{lost: getattr(fresh, lost)})
    rest = adapt(own, params, RATES, X[17:], Y[17:], state=state)
    assert not same(
        [everything(rest.state), {n: v[:, -1] for n, v in rest.series.items()}],
        [everything(whole.state), {n: v[:, -1] for n, v in whole.series.items()}],
    )


@pytest.mark.full
@pytest.mark.parametrize(
    "name, kind, only", [("rtrl", "rnn", "drawing"), ("tbptt-6-4", "rnn", "trace")]
)
def test_compiled_it_goes_on_with_the_same_bits(name, kind, only):
    own = loop(name, kind, only)
    X, Y = stream(STEPS)
    params = networks(NETWORKS[kind][0])
    compiling.configure(compile=True)
    try:
        whole = adapt(own, params, RATES, X, Y)
        state, errors, series = in_pieces(own, params, X, Y, [4, 16, 24])
    finally:
        compiling.configure(compile=False)
    assert same(everything(state), everything(whole.state))
    assert np.array_equal(errors, whole.errors) and same(series, whole.series)
    eager = adapt(loop(name, kind, only), params, RATES, X, Y)
    np.testing.assert_allclose(eager.errors, errors, rtol=1e-9)
    assert not np.array_equal(eager.errors, 1.001 * errors)


def test_snapshots_and_steps_count_from_the_beginning_of_the_stream():
    own = loop("immediate", "rnn")
    X, Y = stream(STEPS)
    params = networks(NETWORKS["rnn"][0])
    whole = adapt(own, params, RATES, X, Y, snapshots=[SEGMENT])
    first = adapt(own, params, RATES, X[:10], Y[:10])
    assert first.state.step == 10
    rest = adapt(own, params, RATES, X[10:], Y[10:], snapshots=[SEGMENT], state=first.state)
    assert rest.state.step == STEPS
    assert same(rest.snapshots[SEGMENT], whole.snapshots[SEGMENT])
