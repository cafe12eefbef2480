"""The loop: against a plain PyTorch loop, alone and in company, frozen, cut and diverging."""

import dataclasses
import functools
from dataclasses import dataclass
from unittest.mock import Mock

import numpy as np
import oracles
import pytest
import torch
from harness import (
    LEARNERS,
    NETWORKS,
    RATES,
    SEGMENT,
    SQUARED_ERROR,
    STEPS,
    adapt,
    everything,
    initial,
    make_learner,
    make_loop,
    make_optimizer,
    networks,
    ran,
    same,
    stream,
    watch,
)

from orla.engine import forward
from orla.engine.loop import Loop
from orla.engine.windows import Windows
from orla.errors import OrlaError
from orla.interventions.base import Intervention
from orla.interventions.match_norm import MatchNorm
from orla.optimizers.sgd import SGD
from orla.probes.base import Probe
from orla.probes.cosine import PastGradient
from orla.programs import compiling

RNN = NETWORKS["rnn"][0]


def plain_loop(step, initial, params, X, Y, rate):
    """What a reader would write: one network, torch.optim.Adam, the state detached each step."""
    leaves = {name: torch.nn.Parameter(p.clone()) for name, p in params.items()}
    adam, state, losses = torch.optim.Adam(leaves.values(), lr=rate), initial, []
    for x, y in zip(X, Y, strict=True):
        state = step(leaves, state.detach(), x)
        value = oracles.loss(leaves, state, y)
        adam.zero_grad()
        value.backward()
        adam.step()
        losses.append(float(value.detach()))
    return {name: p.detach() for name, p in leaves.items()}, losses


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_a_hundred_steps_of_adam_end_where_a_plain_loop_ends(kind):
    architecture, step = NETWORKS[kind]
    X, Y = stream(100)
    params = networks(architecture, models=1)
    result = adapt(make_loop("immediate", kind, segment=50), params, RATES[:1], X, Y)
    own = {name: p[0] for name, p in params.items()}
    final, losses = plain_loop(step, initial(architecture), own, X, Y, float(RATES[0]))
    for name, p in final.items():
        difference = (result.state.params[name][0] - p).norm() / p.norm()
        assert float(difference) < 1e-9
        assert float((p - own[name]).norm() / p.norm()) > 0.05
    np.testing.assert_allclose(result.errors[0], losses, rtol=1e-7)


@pytest.mark.parametrize("name", ["immediate", "tbptt-8-8", "rtrl"])
def test_one_program_serves_parameters_in_any_order(name, monkeypatch):
    """A file of networks gives its parameters in an order of chance."""
    asked, found = [], []

    def made(function, arguments, path):
        asked.append(len(found))
        return function, False

    monkeypatch.setitem(compiling._settings, "enabled", True)
    monkeypatch.setattr(compiling.programs, "program_cache_path", lambda *described: None)
    monkeypatch.setattr(compiling.programs, "compile_and_keep", made)
    forward._compiled_forward.cache_clear()
    params, (X, Y) = networks(RNN), stream(STEPS)
    used = make_loop(name, "rnn")
    for given in (params, dict(reversed(params.items()))):
        found.append(adapt(used, given, RATES[:2], X, Y))
        found.append(forward.outputs_of(RNN, given, None, {"x": X}))
    assert set(asked) == {0, 1}
    np.testing.assert_array_equal(found[0].errors, found[2].errors)
    assert torch.equal(found[1], found[3])
    forward._compiled_forward.cache_clear()


@pytest.mark.parametrize(("passes", "compiled"), [(16, 0), (17, 12)])
def test_updates_are_compiled_where_two_hundred_are_planned(passes, compiled):
    """A run of 48 steps makes 12 updates."""
    params, (X, Y) = networks(RNN, models=3), stream(STEPS)
    used = dataclasses.replace(make_loop("tbptt-6-4", "rnn"), passes=passes)
    update = Mock(wraps=used.update)
    used.driver.__dict__["update_program"] = update
    adapt(used, params, RATES, X, Y)
    assert update.call_count == compiled


# With one number for all models, of sums over others, and of signs.
@pytest.mark.parametrize("name", ["adam", "gradnorm", "muon", "signsgd-momentum"])
@pytest.mark.parametrize("learner", ["immediate", "immediate-8"])
def test_updates_are_those_of_the_optimizer_by_itself(name, learner):
    """Given the gradients that it was given, each model by itself."""
    rule, rate = make_optimizer(name), torch.tensor(0.03, dtype=torch.float64)
    given = {"rate": float(rate), "optimizer": rule}
    watched = watch(make_learner(learner, RNN), networks(RNN), *stream(24), **given)
    for model in range(2):
        gradients, seen = watched.model(model)
        params, state = seen[0], rule.init(seen[0])
        for update, gradient in enumerate(gradients):
            for n, p in params.items():
                torch.testing.assert_close(seen[update][n], p, rtol=1e-9, atol=1e-12)
            moved, state = rule.update(gradient, state, params, rate)
            params = {n: p + moved[n] for n, p in params.items()}
        for n, p in params.items():
            final = watched.result.state.params[n][model]
            torch.testing.assert_close(final, p, rtol=1e-9, atol=1e-12)
            # By the last update signs may have led back to where they began.
            assert any(not torch.allclose(step[n], seen[0][n]) for step in seen)


@dataclass(frozen=True)
class Bias(Probe):
    """The readout's bias, and twice that."""

    def measure(self, state, update):
        bias = update.params["b_out"]
        return state, {"bias": bias, "double": 2.0 * bias}


@dataclass(frozen=True)
class CutOut(Probe):
    """A count that begins as one number of a weight, set to 0: with the weight's strides."""

    def init(self, params):
        return {"steps": torch.zeros_like(params["W_hh"][0, 0])}

    def measure(self, state, update):
        steps = state["steps"] + 1.0
        return {"steps": steps}, {"steps": steps}


@pytest.mark.parametrize(("name", "models"), [("immediate", 1), ("rtrl", 2)])
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_probe_sees_parameters_before_the_update_and_its_state_may_be_a_view(
    name, models, compiled
):
    params = networks(RNN, models)
    compiling.configure(compile=compiled)
    try:
        own = make_loop(name, "rnn", SGD(), 3, probes=[Bias(), CutOut()])
        seen = adapt(own, params, RATES[:models], *stream(6)).series
    finally:
        compiling.configure(compile=False)
    assert np.array_equal(seen["bias"][:, 0], params["b_out"].numpy())
    assert np.array_equal(2.0 * seen["bias"], seen["double"])
    assert (seen["bias"][:, 1] != seen["bias"][:, 0]).any()
    assert np.array_equal(seen["steps"], np.tile(np.arange(1.0, 7.0), (models, 1)))


@pytest.mark.parametrize("name", [n for n in LEARNERS if n.endswith("-8")])
def test_trailing_steps_that_fill_no_update_are_dropped(name):
    X, Y = stream(STEPS + 5)
    params, done = networks(RNN, models=3), []
    own = make_loop(name, "rnn")
    longer = adapt(own, params, RATES, X, Y, on_segment=done.append)
    assert done == [24, 24]
    assert longer.errors.shape == (3, STEPS) and longer.state.step == STEPS
    shorter = adapt(own, params, RATES, X[:STEPS], Y[:STEPS])
    assert same(everything(longer.state), everything(shorter.state))


@dataclass(frozen=True)
class Plus(Intervention):
    """Adds to every entry of a gradient."""

    added: float

    def update(self, gradients, state, params):
        return {name: g + self.added for name, g in gradients.own.items()}, state


def test_an_intervention_drives_and_is_given_what_the_one_before_it_answered():
    learner, params = make_learner("immediate", RNN), networks(RNN)
    run = functools.partial(watch, learner, params, *stream(SEGMENT), rate=0.001)
    watched = run(interventions=[Plus(1.0), Plus(10.0), Plus(100.0)])
    for given, learned in zip(watched.gradients, watched.series("learned"), strict=True):
        for name, g in given.items():
            torch.testing.assert_close(g, learned[name] + 111.0)
    assert not same(run().result.state.params, watched.result.state.params)


@pytest.mark.parametrize(("observer", "apart"), [("tbptt-6-1", True), ("rtrl", False)])
def test_gradient_and_update_are_compiled_apart_where_any_learner_loops(observer, apart):
    driver = make_loop("immediate", "rnn", observers={"full": make_learner(observer, RNN)}).driver
    assert isinstance(driver, Windows) is apart


STEP, WINDOW, FOUR = (make_learner(n, RNN) for n in ("immediate", "tbptt-8-8", "tbptt-6-4"))
MATCH, PAST = {"interventions": [MatchNorm("full")]}, {"probes": [PastGradient(full="rtrl")]}
REFUSED = [
    ("segment of 20 .* one every 8 steps", WINDOW, {"segment": 20}),
    ("observer a answers every 4", WINDOW, {"observers": {"a": FOUR}}),
    ("observer a answers every 8", STEP, {"observers": {"a": WINDOW}}),
    (
        "match-norm reads the observer 'full', which is not",
        STEP,
        MATCH | {"observers": {"f": STEP}},
    ),
    ("past_gradient reads the observer 'rtrl'", STEP, PAST),
]


@pytest.mark.parametrize(("words", "learner", "parts"), REFUSED)
def test_parts_that_do_not_fit_are_refused(words, learner, parts):
    with pytest.raises(OrlaError, match=words) as refusal:
        Loop(learner, SGD(), SQUARED_ERROR, **{"segment": 24} | parts)
    assert "\n" not in str(refusal.value)
    Loop(STEP, SGD(), SQUARED_ERROR, **PAST, observers={"rtrl": STEP})
    Loop(WINDOW, SGD(), SQUARED_ERROR, observers={"a": WINDOW, "b": STEP}, segment=24)


@pytest.mark.parametrize(
    ("words", "steps", "snapshots"),
    [
        ("shorter than one update", 7, []),
        *(("choose a multiple of 24", 48, [k]) for k in (0, 8, 72)),
    ],
)
def test_a_stream_shorter_than_an_update_or_odd_snapshots_are_refused(words, steps, snapshots):
    own, params, (X, Y) = make_loop("tbptt-8-8", "rnn"), networks(RNN, 3), stream(STEPS)
    with pytest.raises(OrlaError, match=words):
        adapt(own, params, RATES, X[:steps], Y[:steps], snapshots=snapshots)


def test_snapshots_and_steps_count_from_the_beginning_of_the_stream():
    own, params, (X, Y) = make_loop("immediate", "rnn"), networks(RNN, 3), stream(STEPS)
    first = adapt(own, params, RATES, X[:30], Y[:30]).state
    assert first.step == 30
    with pytest.raises(OrlaError, match="after 24 of 48 steps"):
        adapt(own, params, RATES, X[30:], Y[30:], snapshots=[24], state=first.copy())
    rest = adapt(own, params, RATES, X[30:], Y[30:], snapshots=[STEPS], state=first)
    whole = ran("rnn", "immediate")
    assert rest.state.step == STEPS and same(rest.snapshots[STEPS], whole.snapshots[STEPS])


def test_an_optimizer_may_be_carried_over_to_another_run():
    """Pretraining's epochs: the network's state begins anew, Adam's goes on."""
    X, Y = stream(24)
    params = networks(NETWORKS["lstm"][0], models=3)
    own = make_loop("tbptt-8-8", "lstm")
    first = adapt(own, params, RATES, X, Y).state
    kept = {n: v.clone() for n, v in first.optimizer.items()}
    goes_on, fresh = (
        adapt(own, first.params, RATES, X, Y, state=own.start(first.params, optimizer=before)).state
        for before in (first.optimizer, None)
    )
    assert not same(goes_on.params, fresh.params)
    assert same(first.optimizer, kept)
    assert torch.equal(goes_on.optimizer["beta1_power"], kept["beta1_power"] * 0.9**3)
