"""The loop: against a plain PyTorch loop, alone and in company, frozen, cut and diverging."""

import dataclasses
from dataclasses import dataclass
from unittest.mock import Mock

import numpy as np
import oracles
import pytest
import torch
from harness import (
    CARRYING,
    LEARNED,
    LEARNERS,
    NETWORKS,
    RATES,
    SEGMENT,
    STEPS,
    adapt,
    everything,
    in_full,
    initial,
    make_learner,
    make_loop,
    make_optimizer,
    networks,
    ran,
    same,
    stream,
    taking,
    watch,
)

from orla import catalogue
from orla.engine import forward
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.probes.base import Probe
from orla.programs import compiling
from orla.study.batches import batches, models_at


def of(params, model):
    return {name: p[model] for name, p in params.items()}


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
def test_six_hundred_steps_of_adam_end_where_a_plain_loop_ends(kind):
    architecture, step = NETWORKS[kind]
    X, Y = stream(600)
    params = networks(architecture, models=1)
    result = adapt(make_loop("immediate", kind, segment=200), params, RATES[:1], X, Y)
    own = of(params, 0)
    final, losses = plain_loop(step, initial(architecture), own, X, Y, float(RATES[0]))
    for name, p in final.items():
        difference = (result.state.params[name][0] - p).norm() / p.norm()
        assert float(difference) < 1e-9
        assert float((p - own[name]).norm() / p.norm()) > 0.05
    np.testing.assert_allclose(result.errors[0], losses, rtol=1e-7)


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_a_model_does_not_depend_on_its_company(kind, name):
    """In a batch of one size its bits are its own, whatever fills the other places.

    Elsewhere to rounding: PyTorch's own sums add in an order that depends on a tensor's place in
    memory. In the compiled loops a model's place changes no bit (test_compiling.py).
    """
    together, params = ran(kind, name), networks(NETWORKS[kind][0], models=3)

    def some(*models):
        index = torch.tensor(models)
        chosen_ones = models_at(params, index)
        return adapt(make_loop(name, kind), chosen_ones, RATES[index], *stream(STEPS), seeds=models)

    filled, alone = some(0, 2, 2), some(1)
    final = together.state.params
    for model in (0, 2):
        assert same(of(filled.state.params, model), of(final, model))
    for other, place, model in ((filled, 1, 2), (alone, 0, 1)):
        for n, p in other.state.params.items():
            torch.testing.assert_close(p[place], final[n][model], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(other.errors[place], together.errors[model], rtol=1e-9)
        assert not same(of(other.state.params, place), of(final, 0))


@pytest.mark.parametrize("name", ["immediate", "tbptt-8-8", "rtrl"])
def test_one_program_serves_parameters_in_any_order(name, monkeypatch):
    """A file of networks gives its parameters in an order of chance."""
    asked, found = [], []

    def made(function, arguments, path):
        asked.append(len(found))
        return function, False

    monkeypatch.setitem(compiling._settings, "enabled", True)
    monkeypatch.setattr(compiling.programs, "path", lambda *described: None)
    monkeypatch.setattr(compiling.programs, "make", made)
    forward._forward.cache_clear()
    params, (X, Y) = networks(NETWORKS["rnn"][0]), stream(STEPS)
    used = make_loop(name, "rnn")
    for given in (params, dict(reversed(params.items()))):
        found.append(adapt(used, given, RATES[:2], X, Y))
        found.append(forward.outputs_of(NETWORKS["rnn"][0], given, None, {"x": X}))
    assert set(asked) == {0, 1}
    np.testing.assert_array_equal(found[0].errors, found[2].errors)
    assert torch.equal(found[1], found[3])
    forward._forward.cache_clear()


@pytest.mark.parametrize(("passes", "compiled"), [(16, 0), (17, 12)])
def test_updates_are_compiled_where_two_hundred_are_planned(passes, compiled):
    """A run of 48 steps makes 12 updates."""
    params, (X, Y) = networks(NETWORKS["rnn"][0], models=3), stream(STEPS)
    used = dataclasses.replace(make_loop("tbptt-6-4", "rnn"), passes=passes)
    update = Mock(wraps=used.update)
    used.driver.__dict__["update_program"] = update
    adapt(used, params, RATES, X, Y)
    assert update.call_count == compiled


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED, CARRYING))
def test_a_snapshot_has_the_bits_of_a_shorter_run_and_the_start_stays_as_it_was(kind, name):
    whole, (X, Y) = ran(kind, name), (m[:SEGMENT] for m in stream(STEPS))
    assert list(whole.snapshots) == [SEGMENT, STEPS]
    kept, network = whole.snapshots[SEGMENT]
    params = networks(NETWORKS[kind][0], models=3)
    before = {n: p.clone() for n, p in params.items()}
    short = adapt(make_loop(name, kind), params, RATES, X, Y)
    assert same(short.state.params, kept) and torch.equal(short.state.network, network)
    assert np.array_equal(short.errors, whole.errors[:, :SEGMENT])
    assert same(params, before)
    assert same(whole.state.params, whole.snapshots[STEPS][0])
    assert not same(whole.state.params, kept)
    other = adapt(make_loop(name, kind), params, RATES, X + 1e-9, Y)
    assert not same(other.state.params, kept)


@pytest.mark.parametrize("name", catalogue.parts("optimizer"))
def test_batches_of_two_compute_the_bits_of_one_of_three(name):
    X, Y = stream(STEPS)
    params = networks(NETWORKS["rnn"][0], models=3)
    own = make_loop("immediate", "rnn", make_optimizer(name))
    together = adapt(own, params, RATES, X, Y).state
    for index, count in batches(3, 2):
        index = torch.as_tensor(index)
        some = adapt(own, models_at(params, index), RATES[index], X, Y).state
        for place in range(count):
            assert same(of(some.params, place), of(together.params, int(index[place])))


@pytest.mark.parametrize("name", catalogue.parts("optimizer"))
@pytest.mark.parametrize("learner", ["immediate", "immediate-8"])
def test_updates_are_those_of_the_optimizer_by_itself(name, learner):
    """Given the gradients that it was given, each model by itself."""
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    rule, rate = make_optimizer(name), 0.03
    watched = watch(
        make_learner(learner, architecture), networks(architecture), X, Y, rate=rate, optimizer=rule
    )
    for model in range(2):
        gradients, seen = watched.model(model)
        params, state = seen[0], rule.init(seen[0])
        for update, gradient in enumerate(gradients):
            for n, p in params.items():
                torch.testing.assert_close(seen[update][n], p, rtol=1e-9, atol=1e-12)
            moved, state = rule.update(
                gradient, state, params, torch.tensor(rate, dtype=torch.float64)
            )
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
def test_a_probe_sees_parameters_before_the_update_and_may_keep_a_number_of_one(
    name, models, compiled
):
    params = networks(NETWORKS["rnn"][0], models)
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


@pytest.mark.parametrize(("kind", "name"), in_full(LEARNED))
def test_single_precision_through_the_same_code(kind, name):
    X, Y = stream(SEGMENT)
    params = networks(NETWORKS[kind][0], models=3, dtype=torch.float32)
    own = make_loop(name, kind, SGD())
    single = adapt(own, params, RATES.float(), X.float(), Y.float())
    double = adapt(own, {n: p.double() for n, p in params.items()}, RATES, X, Y)
    assert single.errors.dtype == np.float32
    assert not torch.equal(single.state.params["W_out"].double(), double.state.params["W_out"])
    for n, p in single.state.params.items():
        assert p.dtype == torch.float32
        torch.testing.assert_close(p.double(), double.state.params[n], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", taking("rnn"))
def test_a_diverging_model_neither_stops_nor_touches_its_neighbours(name):
    calm, wild = ran("rnn", name), RATES.clone()
    wild[1] = 1e200
    params = networks(NETWORKS["rnn"][0], models=3)
    result = adapt(make_loop(name, "rnn"), params, wild, *stream(STEPS))
    assert not np.isfinite(result.errors[1]).all()
    for model in (0, 2):
        assert same(of(result.state.params, model), of(calm.state.params, model))
        assert np.array_equal(result.errors[model], calm.errors[model])


@pytest.mark.parametrize("name", [n for n in LEARNERS if n.endswith("-8")])
def test_steps_that_fill_no_update_are_passed_over_and_counted(name):
    X, Y = stream(STEPS + 5)
    params, done = networks(NETWORKS["rnn"][0], models=3), []
    own = make_loop(name, "rnn")
    longer = adapt(own, params, RATES, X, Y, on_segment=done.append)
    assert done == [24, 24]
    assert longer.errors.shape == (3, STEPS) and longer.state.step == STEPS
    shorter = adapt(own, params, RATES, X[:STEPS], Y[:STEPS])
    assert same(everything(longer.state), everything(shorter.state))


def test_what_does_not_fit_is_refused():
    X, Y = stream(STEPS)
    params = networks(NETWORKS["rnn"][0], models=3)
    with pytest.raises(OrlaError, match="one every 8 steps"):
        make_loop("tbptt-8-8", "rnn", segment=20)
    own = make_loop("tbptt-8-8", "rnn")
    with pytest.raises(OrlaError, match="shorter than one update"):
        adapt(own, params, RATES, X[:7], Y[:7])
    for step in (0, 8, 72):
        with pytest.raises(OrlaError, match="choose a multiple of 24"):
            adapt(own, params, RATES, X, Y, snapshots=[step])
    first = adapt(own, params, RATES, X[:24], Y[:24]).state
    with pytest.raises(OrlaError, match="after 24 of 48 steps"):
        adapt(own, params, RATES, X[24:], Y[24:], snapshots=[24], state=first)


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
