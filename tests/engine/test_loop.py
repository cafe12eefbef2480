"""The loop: against a plain PyTorch loop, alone and in company, frozen, cut and diverging."""

import numpy as np
import oracles
import pytest
import torch
from harness import NETWORKS, networks, stream, watch

from orla.engine.loop import Adapter
from orla.errors import OrlaError
from orla.learners import RTRL, learner
from orla.optimizers import OPTIMIZERS, SGD, Adam, optimizer
from orla.probes import update_ratio
from orla.programs import compiling
from orla.study.batches import batches, chosen

LEARNERS = ["immediate", "immediate-8", "tbptt-8-8", "tbptt-6-4", "tbptt-4-1", "last-layer", "rtrl"]
RATES = torch.tensor([0.003, 0.01, 0.03], dtype=torch.float64)
STEPS = 72


def named(name, architecture):
    """The learner called so; exact RTRL with blocks short enough to be rebuilt, and quick."""
    return RTRL(architecture, block=10) if name == "rtrl" else learner(name, architecture)


def same(a, b, model_a=..., model_b=...):
    return all(torch.equal(a[name][model_a], b[name][model_b]) for name in a)


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
def test_two_thousand_steps_of_adam_end_where_a_plain_loop_ends(kind):
    architecture, step = NETWORKS[kind]
    X, Y = stream(2000)
    params = networks(architecture, models=1)
    adaptation = Adapter(learner("immediate", architecture), Adam())(params, RATES[:1], X, Y)
    initial = torch.zeros(architecture.state_size, dtype=torch.float64)
    own = {name: p[0] for name, p in params.items()}
    final, losses = plain_loop(step, initial, own, X, Y, float(RATES[0]))
    for name, p in final.items():
        difference = (adaptation.params[name][0] - p).norm() / p.norm()
        assert float(difference) < 1e-9
        assert float((p - own[name]).norm() / p.norm()) > 0.05
    np.testing.assert_allclose(adaptation.losses[0], losses, rtol=1e-7)


@pytest.mark.parametrize("kind", ["rnn", "lstm"])
def test_online_rtrl_with_adam_ends_where_the_dense_recursion_ends(kind):
    architecture, step = NETWORKS[kind]
    X, Y = stream(70)
    params = networks(architecture, models=1)
    watched = watch(RTRL(architecture, block=8), params, X, Y, rate=0.01, optimizer=Adam())
    _, used = watched.model(0)
    initial = torch.zeros(architecture.state_size, dtype=torch.float64)
    truth = oracles.dense_rtrl(step, initial, used, X, Y)
    leaves = {name: torch.nn.Parameter(p[0].clone()) for name, p in params.items()}
    adam = torch.optim.Adam(leaves.values(), lr=0.01)
    for gradient in truth:
        for name, p in leaves.items():
            p.grad = gradient[name]
        adam.step()
    for name, p in leaves.items():
        torch.testing.assert_close(
            watched.adaptation.params[name][0], p.detach(), rtol=1e-8, atol=1e-9
        )


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_does_not_depend_on_its_company(kind, name):
    """To rounding: PyTorch's own sums add in an order that depends on a tensor's place in memory.

    In the compiled loops a model's place changes no bit (test_compiling.py).
    """
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3)
    adapter = Adapter(named(name, architecture), Adam(), [update_ratio], segment=24)
    together = adapter(params, RATES, X, Y)
    for model in range(3):
        index = torch.tensor([model])
        alone = adapter(chosen(params, index), RATES[index], X, Y)
        for n, p in alone.params.items():
            torch.testing.assert_close(p[0], together.params[n][model], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(alone.losses[0], together.losses[model], rtol=1e-9)
        ratios = (a.series["update_ratio"] for a in (alone, together))
        np.testing.assert_allclose(next(ratios)[0], next(ratios)[model], rtol=1e-6)
    assert not same(together.params, together.params, 0, 1)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_padded_batch_computes_the_same_bits(name):
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3)
    adapter = Adapter(learner("immediate", architecture), optimizer(name), segment=24)
    together = adapter(params, RATES, X, Y)
    for index, count in batches(3, 2):
        index = torch.as_tensor(index)
        some = adapter(chosen(params, index), RATES[index], X, Y)
        for place in range(count):
            assert same(some.params, together.params, place, int(index[place]))


@pytest.mark.parametrize("name", LEARNERS)
def test_probes_change_nothing(name):
    architecture, _ = NETWORKS["lstm"]
    X, Y = stream(STEPS)
    params, rule = networks(architecture, models=3), named(name, architecture)
    bare = Adapter(rule, Adam(), segment=24)(params, RATES, X, Y)
    watched = Adapter(rule, Adam(), [update_ratio], segment=24)(params, RATES, X, Y)
    assert same(bare.params, watched.params)
    assert np.array_equal(bare.losses, watched.losses)
    assert bare.series == {}
    assert watched.series["update_ratio"].shape == (3, STEPS // rule.stride)


@pytest.mark.parametrize("name", ["immediate", "rtrl"])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_probe_sees_parameters_as_they_are_before_the_update(name, compiled):
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(6)
    params = networks(architecture, models=3)

    def bias(params, gradients, updates):
        return {"bias": params["b_out"], "double": 2.0 * params["b_out"]}

    compiling.configure(compile=compiled)
    adapter = Adapter(learner(name, architecture), SGD(), [bias], segment=3)
    seen = adapter(params, RATES, X, Y).series
    compiling.configure(compile=False)
    assert np.array_equal(seen["bias"][:, 0], params["b_out"].numpy())
    assert np.array_equal(2.0 * seen["bias"], seen["double"])
    assert (seen["bias"][:, 1] != seen["bias"][:, 0]).any()


def test_the_update_ratio_is_that_of_the_steps_taken():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(10)
    watched = watch(learner("immediate", architecture), networks(architecture), X, Y, rate=0.1)
    adapter = Adapter(learner("immediate", architecture), SGD(), [update_ratio], segment=1)
    rates = torch.full((2,), 0.1, dtype=torch.float64)
    ratios = adapter(networks(architecture), rates, X, Y).series["update_ratio"]
    for model in range(2):
        _, params = watched.model(model)
        after = [*params[1:], {n: p[model] for n, p in watched.adaptation.params.items()}]
        for step, (a, b) in enumerate(zip(params, after, strict=True)):
            moved = (b["W_hh"] - a["W_hh"]).norm() / (b["W_out"] - a["W_out"]).norm()
            assert ratios[model, step] == pytest.approx(float(moved), rel=1e-9)


def test_the_update_ratio_of_a_frozen_recurrence_is_missing():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(6)
    adapter = Adapter(learner("last-layer", architecture), SGD(), [update_ratio], segment=6)
    result = adapter(networks(architecture, models=3), RATES, X, Y)
    assert np.isnan(result.series["update_ratio"]).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_snapshot_is_a_shorter_run_and_the_start_stays_as_it_was(name):
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3)
    before = {n: p.clone() for n, p in params.items()}
    adapter = Adapter(named(name, architecture), Adam(), segment=24)
    whole = adapter(params, RATES, X, Y, snapshots=[24, 48])
    assert set(whole.snapshots) == {24, 48}
    for steps, (kept, state) in whole.snapshots.items():
        short = adapter(params, RATES, X[:steps], Y[:steps])
        assert same(short.params, kept) and torch.equal(short.state, state)
        assert not same(whole.params, kept)
    assert same(params, before)


@pytest.mark.parametrize("name", ["immediate", "immediate-8", "tbptt-8-8", "last-layer"])
def test_a_run_goes_on_from_state_and_optimizer_state(name):
    architecture, _ = NETWORKS["lstm"]
    X, Y = stream(48)
    params = networks(architecture, models=3)
    adapter = Adapter(named(name, architecture), Adam(), segment=24)
    whole = adapter(params, RATES, X, Y)
    first = adapter(params, RATES, X[:24], Y[:24])
    rest = {"state": first.state, "optimizer_state": first.optimizer_state}
    second = adapter(first.params, RATES, X[24:], Y[24:], **rest)
    assert same(second.params, whole.params)
    fresh = adapter(first.params, RATES, X[24:], Y[24:])
    assert not same(fresh.params, whole.params)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", NETWORKS)
def test_single_precision_through_the_same_code(kind, name):
    architecture, _ = NETWORKS[kind]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3, dtype=torch.float32)
    adapter = Adapter(named(name, architecture), SGD(), segment=24)
    single = adapter(params, RATES.float(), X.float(), Y.float())
    double = adapter({n: p.double() for n, p in params.items()}, RATES, X, Y)
    assert single.losses.dtype == np.float32
    assert not torch.equal(single.params["W_out"].double(), double.params["W_out"])
    for n, p in single.params.items():
        assert p.dtype == torch.float32
        torch.testing.assert_close(p.double(), double.params[n], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_diverging_model_neither_stops_nor_touches_its_neighbours(name):
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3)
    adapter = Adapter(named(name, architecture), SGD(), segment=24)
    calm = adapter(params, RATES, X, Y)
    wild = RATES.clone()
    wild[1] = 1e200
    result = adapter(params, wild, X, Y)
    assert not np.isfinite(result.losses[1]).all()
    for model in (0, 2):
        assert same(result.params, calm.params, model, model)
        assert np.array_equal(result.losses[model], calm.losses[model])


def test_steps_that_fill_no_update_are_passed_over_and_counted():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS + 5)
    params, done = networks(architecture, models=3), []
    adapter = Adapter(learner("tbptt-8-8", architecture), Adam(), segment=24)
    longer = adapter(params, RATES, X, Y, on_segment=done.append)
    assert done == [24, 24, 24]
    assert longer.losses.shape == (3, STEPS)
    assert same(longer.params, adapter(params, RATES, X[:STEPS], Y[:STEPS]).params)


def test_what_does_not_fit_is_refused():
    architecture, _ = NETWORKS["rnn"]
    X, Y = stream(STEPS)
    params = networks(architecture, models=3)
    with pytest.raises(OrlaError, match="one every 8 steps"):
        Adapter(learner("tbptt-8-8", architecture), Adam(), segment=20)
    adapter = Adapter(learner("tbptt-8-8", architecture), Adam(), segment=24)
    with pytest.raises(OrlaError, match="shorter than one update"):
        adapter(params, RATES, X[:7], Y[:7])
    for step in (0, 8, 96):
        with pytest.raises(OrlaError, match="choose a multiple of 24"):
            adapter(params, RATES, X, Y, snapshots=[step])
