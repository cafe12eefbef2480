"""Condition numbers of dense Jacobians and recursions of them, at the steps looked at."""

from dataclasses import dataclass

import numpy as np
import oracles
import pytest
import torch
from harness import (
    NETWORKS,
    PLAIN,
    SQUARED_ERROR,
    Recorder,
    adapt,
    everything,
    initial,
    make_learner,
    networks,
    same,
    stream,
)

from orla.architectures.base import Architecture
from orla.engine.loop import Loop
from orla.errors import OrlaError
from orla.optimizers.sgd import SGD
from orla.probes.condition_number import ConditionNumber

STEPS, SEGMENT = 40, 8
(X, Y), RATES = stream(STEPS), torch.full((2,), 0.05, dtype=torch.float64)


def loop(driver, kind, stride=16):
    probes = [ConditionNumber(stride=stride), Recorder()]
    learner = make_learner(driver, NETWORKS[kind][0])
    return Loop(learner, SGD(), SQUARED_ERROR, probes=probes, segment=SEGMENT)


def run(driver, kind, stride=16, state=None, steps=slice(0, STEPS), **masks):
    params = networks(NETWORKS[kind][0])
    return adapt(
        loop(driver, kind, stride), params, RATES, X[steps], Y[steps], state=state, **masks
    )


def condition(matrix):
    values = np.linalg.svd(matrix, compute_uv=False)
    return values[0] / values[-1]


def conditions(series, kind, model, starts=()):
    """Of dh/dtheta of each step, and of all steps before it, by dense Jacobians of the textbook."""
    architecture, step = NETWORKS[kind]
    inner, state, P, found = architecture.recurrent_shapes(), initial(architecture), None, []
    stride = STEPS // series["params W_out"].shape[1]
    for t, x in enumerate(X):
        if t in starts:
            state, P = initial(architecture), None
        params = {
            n: torch.as_tensor(series[f"params {n}"][model, t // stride])
            for n in architecture.shapes()
        }
        D, J = torch.func.jacrev(step, argnums=(0, 1))(params, state, x)
        D = torch.cat([D[n].flatten(1) for n in inner], 1)
        rows = slice(0, architecture.hidden)
        found.append((condition(D[rows]), np.nan if P is None else condition(P[rows])))
        P = D if P is None else J @ P + D
        state = step(params, state, x)
    return np.array(found).T


DRIVERS = ["immediate", "tbptt-8-8", *({"kind": "rtrl", "block": block} for block in (5, 8))]


@pytest.mark.parametrize(
    ("kind", "driver"),
    [*(("rnn", d) for d in DRIVERS), *((k, d) for k in PLAIN[1:] for d in DRIVERS[::2])],
)
def test_every_look_is_that_of_dense_matrices(kind, driver):
    """Looks at steps 16 and 32: within a block of 5, and at the very end of one of 8."""
    series = run(driver, kind).series
    for model in range(2):
        now, past = conditions(series, kind, model)
        columns = {"condition_number": now}
        if driver in DRIVERS[2:]:
            columns["sensitivity_condition"] = past
        for name, truth in columns.items():
            assert series[name].shape == (2, 2)
            np.testing.assert_allclose(series[name][model], truth[[16, 32]], rtol=1e-6)
            for wrong in ([15, 31], [17, 33]):
                assert (np.abs(series[name][model] / truth[wrong] - 1) > 1e-4).all()
            rank = "condition_rank" if name == "condition_number" else "sensitivity_rank"
            assert (series[rank] == 1).all()
    if driver in DRIVERS[:2]:  # these learners carry no sensitivity
        assert np.isnan(series["sensitivity_condition"]).all()


def test_a_trial_starts_without_a_past():
    starts = torch.zeros(STEPS, dtype=torch.bool)
    starts[[16, 30]] = True
    series = run("rtrl", "rnn", starts=starts).series
    now, past = conditions(series, "rnn", 0, starts=(16, 30))
    assert np.isnan(series["sensitivity_condition"][:, 0]).all()
    assert series["sensitivity_condition"][0, 1] == pytest.approx(past[32], rel=1e-6)
    np.testing.assert_allclose(series["condition_number"][0], now[[16, 32]], rtol=1e-6)


def look(kind, params, state, x):
    found = ConditionNumber().measure_network(NETWORKS[kind][0], params, state, x, {})
    assert all(np.isnan(float(found.pop(f"sensitivity_{of}"))) for of in ("condition", "rank"))
    return {name: float(value) for name, value in found.items()}


def test_a_saturated_unit_lowers_the_rank_and_does_not_enter_the_number():
    params = {n: p[0].clone() for n, p in networks(NETWORKS["rnn"][0]).items()}
    state, x = torch.zeros(5).double(), X[0]
    slopes = 1 - oracles.rnn_step(params, state, x) ** 2
    params["b_h"][2] = 50.0
    kept = slopes[[0, 1, 3, 4]]
    found = look("rnn", params, state, x)
    assert found["condition_number"] == pytest.approx(float(kept.max() / kept.min()), rel=1e-10)
    assert found["condition_rank"] == 0.8
    # A slope of 1e-6, which is nothing beside 1 in single precision.
    params["b_h"][2] = 7.5 - params["W_ih"][2] @ x
    for dtype, rank in ((torch.float32, 0.8), (torch.float64, 1.0)):
        cast = {n: p.to(dtype) for n, p in params.items()}
        assert look("rnn", cast, state.to(dtype), x.to(dtype))["condition_rank"] == rank
    params["b_h"][:] = 50.0
    assert all(np.isnan(value) for value in look("rnn", params, state, x).values())
    params["b_h"][0] = torch.nan
    assert all(np.isnan(value) for value in look("rnn", params, state, x).values())


def test_looks_are_taken_between_segments_and_are_those_of_a_run_that_was_stopped():
    whole = run("immediate", "rnn")
    half = run("immediate", "rnn", steps=slice(0, 32))
    state = half.state
    rest = run("immediate", "rnn", state=state, steps=slice(32, STEPS))
    assert half.series["condition_number"].shape == rest.series["condition_number"].shape == (2, 1)
    for part, of in ((half, 0), (rest, 1)):
        seen = part.series["condition_number"][:, 0]
        assert np.array_equal(seen, whole.series["condition_number"][:, of])
    assert same(everything(state), everything(whole.state))
    with pytest.raises(OrlaError, match=r"condition_number looks every 20 steps, .* of 8; give"):
        loop("immediate", "rnn", stride=20)


def test_each_model_has_its_own_stream():
    both = torch.stack([X, X.flip(0)], 1), torch.stack([Y, Y.flip(0)], 1)
    params = networks(NETWORKS["rnn"][0])
    together = adapt(loop("immediate", "rnn"), params, RATES, *both).series["condition_number"]
    for model in range(2):
        one = {n: p[model : model + 1] for n, p in params.items()}
        own = (t[:, model].contiguous() for t in both)
        alone = adapt(loop("immediate", "rnn"), one, RATES[:1], *own).series["condition_number"]
        np.testing.assert_allclose(together[model], alone[0], rtol=1e-12)
    assert not np.allclose(*together, rtol=1e-3)


def test_a_run_too_short_for_a_look_has_none():
    series = run("immediate", "rnn", stride=STEPS).series
    assert series["condition_number"].shape == (2, 0)
    found = ConditionNumber(stride=STEPS).summary(series)
    assert all(np.isnan(found[name]).all() and found[name].shape == (2,) for name in found)
    assert list(found) == list(ConditionNumber.part.more["columns"])
    series = {n: np.array([[1.0, 3.0], [np.nan, 5.0]]) for n in found}
    assert ConditionNumber().summary(series)["condition_number"].tolist() == [2.0, 5.0]


@dataclass(frozen=True)
class Twins(Architecture):
    """Two units that are one, but for rounding."""

    @property
    def state_size(self):
        return 2

    def recurrent_shapes(self):
        return {"W": (self.n_in,)}

    def step(self, params, state, x):
        one = (params["W"] * x).sum()
        return torch.stack([one, 10 * (params["W"] * (0.1 * x)).sum()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_differs_by_rounding_alone_has_no_rank(dtype):
    architecture = Twins(2, 30, 1)
    drawn = torch.Generator().manual_seed(0)
    x = torch.randn(30, generator=drawn).to(dtype)
    assert (10 * (0.1 * x) != x).any()
    params = {"W": torch.ones(30, dtype=dtype)}
    found = ConditionNumber().measure_network(
        architecture, params, torch.zeros(2, dtype=dtype), x, {}
    )
    assert float(found["condition_rank"]) == 0.5
    assert float(found["condition_number"]) == pytest.approx(1.0, abs=1e-6)
