"""Condition numbers against closed forms and finite differences, at the steps looked at."""

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

STEPS, SEGMENT = 48, 8


def loop(driver, kind, stride=16, **options):
    architecture, _ = NETWORKS[kind]
    return Loop(
        make_learner(driver, architecture),
        SGD(),
        SQUARED_ERROR,
        probes=[ConditionNumber(stride=stride), Recorder()],
        segment=SEGMENT,
        **options,
    )


def run(driver, kind, stride=16, params=None, state=None, steps=slice(0, STEPS), **masks):
    X, Y = (m[steps] for m in stream(STEPS))
    params = networks(NETWORKS[kind][0]) if params is None else params
    rates = torch.full((2,), 0.05, dtype=torch.float64)
    return adapt(loop(driver, kind, stride), params, rates, X, Y, state=state, **masks)


def weights(series, model, step, stride=1):
    return {
        n.removeprefix("params "): torch.as_tensor(values[model, step // stride])
        for n, values in series.items()
        if n.startswith("params ")
    }


def jacobian(kind, params, state, x, width=1e-6):
    """dh/dtheta of a textbook step by central differences, the state before it held fixed."""
    architecture, step = NETWORKS[kind]
    columns = []
    for name, shape in architecture.recurrent_shapes().items():
        for index in range(int(np.prod(shape))):
            moved = []
            for sign in (1, -1):
                p = params[name].clone()
                p.view(-1)[index] += sign * width
                moved.append(step({**params, name: p}, state, x)[: architecture.hidden])
            columns.append((moved[0] - moved[1]).numpy() / (2 * width))
    return np.array(columns).T


def states(series, kind, model, stride=1, starts=()):
    """The state before each step, by the textbook step with each step's weights."""
    architecture, step = NETWORKS[kind]
    state, visited = initial(architecture), []
    for t, x in enumerate(stream(STEPS)[0]):
        state = initial(architecture) if t in starts else state
        visited.append(state)
        state = step(weights(series, model, t, stride), state, x)
    return visited


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("driver, stride", [("immediate", 1), ("tbptt-8-8", 8)])
def test_it_is_that_of_finite_differences_at_every_look(kind, driver, stride):
    series = run(driver, kind).series
    assert series["condition_number"].shape == series["condition_rank"].shape == (2, 2)
    X, _ = stream(STEPS)
    for model in range(2):
        visited = states(series, kind, model, stride)
        for look, t in enumerate((16, 32)):
            D = jacobian(kind, weights(series, model, t, stride), visited[t], X[t])
            values = np.linalg.svd(D, compute_uv=False)
            found = series["condition_number"][model, look]
            assert found == pytest.approx(values[0] / values[-1], rel=1e-6)
            # The negative controls: another step, other weights, and other inputs.
            for wrong in (
                (weights(series, model, t, stride), visited[t - 1], X[t]),
                (weights(series, model, 0, stride), visited[t], X[t]),
                (weights(series, model, t, stride), visited[t], X[t - 1]),
            ):
                values = np.linalg.svd(jacobian(kind, *wrong), compute_uv=False)
                assert found != pytest.approx(values[0] / values[-1], rel=1e-4)
    assert (series["condition_rank"] == 1).all()


def look(kind, params, state, x):
    found = ConditionNumber().look(NETWORKS[kind][0], params, state, x, {})
    assert all(np.isnan(float(found.pop(f"sensitivity_{of}"))) for of in ("condition", "rank"))
    return {name: float(value) for name, value in found.items()}


def sensitivities(series, kind, model, starts=()):
    """P before each step by the dense recursion P <- J P + D, with each step's weights."""
    architecture, step = NETWORKS[kind]
    P, found, visited = None, [], states(series, kind, model, starts=starts)
    for t, x in enumerate(stream(STEPS)[0]):
        P = None if t in starts else P
        found.append(P)
        params = weights(series, model, t)
        D, J = torch.func.jacrev(step, argnums=(0, 1))(params, visited[t], x)
        D = torch.cat([D[n].flatten(1) for n in architecture.recurrent_shapes()], 1)
        P = D if P is None else J @ P + D
    return [None if p is None else p[: architecture.hidden] for p in found]


@pytest.mark.parametrize("block", [5, 8])
@pytest.mark.parametrize("kind", PLAIN)
def test_exact_rtrls_sensitivity_is_the_dense_recursions(kind, block):
    """Looks at steps 16 and 32: within a block, and (of 8) at its very end."""
    series = run({"kind": "rtrl", "block": block}, kind).series
    for model in range(2):
        truth = sensitivities(series, kind, model)
        for look, t in enumerate((16, 32)):
            values = np.linalg.svd(truth[t], compute_uv=False)
            found = series["sensitivity_condition"][model, look]
            assert found == pytest.approx(values[0] / values[-1], rel=1e-6)
            assert found != pytest.approx(series["condition_number"][model, look], rel=1e-3)
            for wrong in (t - 1, t + 1):
                values = np.linalg.svd(truth[wrong], compute_uv=False)
                assert found != pytest.approx(values[0] / values[-1], rel=1e-4)
    assert (series["sensitivity_rank"] == 1).all()


def test_other_learners_carry_no_sensitivity_and_a_trial_starts_without_one():
    for driver in ("immediate", "tbptt-8-8"):
        assert np.isnan(run(driver, "rnn").series["sensitivity_condition"]).all()
    starts = torch.zeros(STEPS, dtype=torch.bool)
    starts[[16, 30]] = True
    series = run("rtrl", "rnn", starts=starts).series
    assert np.isnan(series["sensitivity_condition"][:, 0]).all()
    values = np.linalg.svd(sensitivities(series, "rnn", 0, starts=(16, 30))[32], compute_uv=False)
    assert series["sensitivity_condition"][0, 1] == pytest.approx(values[0] / values[-1], rel=1e-6)


def test_a_saturated_unit_is_missed_in_the_rank_and_not_in_the_number():
    params = {n: p[0].clone() for n, p in networks(NETWORKS["rnn"][0]).items()}
    state, x = torch.zeros(5).double(), stream(1)[0][0]
    slopes = 1 - oracles.rnn_step(params, state, x) ** 2
    params["b_h"][2] = 50.0
    kept = slopes[[0, 1, 3, 4]]
    found = look("rnn", params, state, x)
    assert found["condition_number"] == pytest.approx(float(kept.max() / kept.min()), rel=1e-10)
    assert found["condition_rank"] == 0.8
    params["b_h"][:] = 50.0
    assert all(np.isnan(value) for value in look("rnn", params, state, x).values())
    params["b_h"][0] = torch.nan
    assert all(np.isnan(value) for value in look("rnn", params, state, x).values())


def test_a_single_precision_network_has_a_coarser_zero():
    params = {n: p[0].float() for n, p in networks(NETWORKS["rnn"][0]).items()}
    state, x = torch.zeros(5), stream(1)[0][0].float()
    params["b_h"][2] = 9.0  # a slope of 1e-7, which is nothing beside 1 in single precision
    assert look("rnn", params, state, x)["condition_rank"] == 0.8
    double = {n: p.double() for n, p in params.items()}
    assert look("rnn", double, state.double(), x.double())["condition_rank"] == 1.0


@dataclass(frozen=True)
class Mixed(Architecture):
    """Units that share their parameters, so that the rows of D are not orthogonal."""

    @property
    def state_size(self):
        return self.hidden + 1

    def recurrent_shapes(self):
        return {"theta": (4,), "scale": (self.hidden,)}

    def step(self, params, state, x):
        theta = params["theta"]
        powers = torch.stack([theta.sum() ** k for k in range(1, self.hidden + 1)])
        h = torch.tanh(powers * params["scale"] + theta[0] * state[: self.hidden] + x[0])
        return torch.cat([h, theta[3:] * state[-1:] + 9.0 * theta[2:3]])


def test_units_that_share_parameters_and_a_hidden_number_of_the_state():
    network = Mixed(3, 3, 2)
    params = {"theta": torch.tensor([0.2, 0.1, -0.4, 0.3]), "scale": torch.tensor([0.5, 0.1, -0.2])}
    params = {n: p.double() for n, p in params.items()}
    state, x = torch.tensor([0.3, -0.2, 0.6, 2.0]).double(), stream(1)[0][0]
    try:
        NETWORKS["mixed"] = (network, network.step)
        values = np.linalg.svd(jacobian("mixed", params, state, x), compute_uv=False)
        found = look("mixed", params, state, x)
    finally:
        del NETWORKS["mixed"]
    assert found["condition_number"] == pytest.approx(values[0] / values[-1], rel=1e-6)
    assert len(values) == 3 and values[0] / values[-1] > 1.5


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


def test_where_a_trial_starts_the_state_is_the_initial_one():
    starts = torch.zeros(STEPS, dtype=torch.bool)
    starts[[16, 40]] = True
    series = run("immediate", "rnn", starts=starts).series
    X, _ = stream(STEPS)
    params, visited = weights(series, 0, 16), states(series, "rnn", 0, starts=(16, 40))
    slopes = 1 - oracles.rnn_step(params, initial(NETWORKS["rnn"][0]), X[16]) ** 2
    assert series["condition_number"][0, 0] == pytest.approx(float(slopes.max() / slopes.min()))
    slopes = 1 - oracles.rnn_step(weights(series, 0, 32), visited[32], X[32]) ** 2
    assert series["condition_number"][0, 1] == pytest.approx(float(slopes.max() / slopes.min()))


def test_each_model_has_its_own_stream():
    X, Y = stream(STEPS)
    both = torch.stack([X, X.flip(0)], 1), torch.stack([Y, Y.flip(0)], 1)
    rates = torch.full((2,), 0.05, dtype=torch.float64)
    params = networks(NETWORKS["rnn"][0])
    together = adapt(loop("immediate", "rnn"), params, rates, *both).series["condition_number"]
    for model, own in enumerate(((X, Y), (X.flip(0), Y.flip(0)))):
        one = {n: p[model : model + 1] for n, p in params.items()}
        alone = adapt(loop("immediate", "rnn"), one, rates[:1], *own).series["condition_number"]
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
    found = ConditionNumber().look(architecture, params, torch.zeros(2, dtype=dtype), x, {})
    assert float(found["condition_rank"]) == 0.5
    assert float(found["condition_number"]) == pytest.approx(1.0, abs=1e-6)
