"""D-RTRL against a dense recursion with all but each unit's own block of J set to zero."""

from dataclasses import dataclass

import oracles
import pytest
import torch
from harness import (
    FIXED,
    NETWORKS,
    Adapting,
    all_learn,
    distance,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)
from torch.func import jacrev

from orla.architectures.elementwise import ElementWise
from orla.learners.d_rtrl import DRTRL
from orla.learners.eprop import EProp

EXACT = 1e-10
STEPS = 20


def masked(network, step, params_by_step, X, Y, mask):
    """P <- (mask J) P + D, dense; gradient (dL/dh_t) P_t."""
    state, P, answers, error = initial(network), None, [], oracles.error_of(step)
    for params, x, y in zip(params_by_step, X, Y, strict=True):
        D, J = jacrev(step, argnums=(0, 1))(params, state, x)
        if P is not None:
            D = {name: torch.tensordot(mask * J, P[name], 1) + d for name, d in D.items()}
        P, state = D, step(params, state, x)
        direct, on_state = jacrev(error, argnums=(0, 1))(params, state, y)
        answers.append({n: torch.tensordot(on_state, P[n], 1) + direct[n] for n in params})
    return answers


@dataclass(frozen=True)
class Surplus(Adapting):
    """With one more number of state, the mean of the others: no whole blocks of units."""

    @property
    def state_size(self):
        return 2 * self.hidden + 1

    def step(self, params, state, x):
        after = super().step(params, state[:-1], x)
        mean = 0.5 * state[-1:] + 0.5 * after.mean()
        return torch.cat([after[: self.hidden] + 0.3 * state[-1], after[self.hidden :], mean])


SURPLUS = Surplus(5, 3, 2)
CASES = NETWORKS | {"surplus": (SURPLUS, SURPLUS.step)}


def own(network):
    """1 where two numbers of the state are one unit's."""
    size = network.state_size
    if isinstance(network, ElementWise):  # its Jacobian has no others
        return torch.ones(size, size, dtype=torch.float64)
    units = torch.arange(size) % (size if size % network.hidden else network.hidden)
    return (units[:, None] == units).double()


@pytest.mark.parametrize("kind", CASES)
def test_it_is_the_dense_recursion_with_each_units_own_block(kind):
    network, step = CASES[kind]
    X, Y = stream(STEPS)
    run = watch(DRTRL(network), networks(network), X, Y, rate=0.05)
    for model in range(2):
        ours, used = run.model(model)
        truth = masked(network, step, used, X, Y, own(network))
        assert distance(ours, truth) < EXACT
        assert all_learn(truth, FIXED.get(kind, ()))
    assert distance([used[-1]], [used[0]]) > 0.01
    frozen = masked(network, step, [used[0]] * STEPS, X, Y, own(network))
    assert distance(ours, frozen) > 1e-3
    none = masked(network, step, used, X, Y, 0.0 * own(network))
    remembers = kind != "transformer"  # no parameter moves what its window passes on
    assert (distance(ours, none) > 1e-2) == remembers
    whole = masked(network, step, used, X, Y, torch.ones_like(own(network)))
    assert (distance(ours, whole) < EXACT) == (isinstance(network, ElementWise) or not remembers)


@pytest.mark.parametrize("kind", ["lstm", "another"])
def test_a_unit_has_all_of_its_numbers_of_state(kind):
    """The negative control: single numbers in the place of a unit's block are something else."""
    network, step = NETWORKS[kind]
    X, Y = stream(STEPS)
    ours, used = watch(DRTRL(network), networks(network), X, Y, rate=0.05).model(0)
    single = torch.eye(network.state_size, dtype=torch.float64)
    assert distance(ours, masked(network, step, used, X, Y, single)) > 1e-2


def test_a_units_weight_on_itself_counts():
    """What tells it from e-prop: without weights of units on themselves both are the same."""
    network = NETWORKS["lstm"][0]
    X, Y = stream(STEPS)
    params = networks(network)
    ours, local = (watch(r(network), params, X, Y).model(0)[0] for r in (DRTRL, EProp))
    assert distance(ours, local) > 1e-2
    params["W_hh"] = params["W_hh"] * (1 - torch.eye(5, dtype=torch.float64)).repeat(4, 1)
    ours, local = (watch(r(network), params, X, Y).model(0)[0] for r in (DRTRL, EProp))
    assert distance(ours, local) < EXACT


def test_it_is_exact_where_units_never_meet():
    X, Y = stream(STEPS)
    network = NETWORKS["rnn"][0]
    params = networks(network)
    alone = params | {"W_hh": params["W_hh"] * torch.eye(5, dtype=torch.float64)}
    for given, same in ((alone, True), (params, False)):
        exact, _ = watch(make_learner("rtrl", network), given, X, Y).model(0)
        ours, _ = watch(DRTRL(network), given, X, Y).model(0)
        assert (distance(ours, exact) < EXACT) == same


def test_an_element_wise_networks_sensitivity_is_as_large_as_its_parameters():
    network = NETWORKS["turning"][0]
    learner, params = DRTRL(network), networks(network, models=3)
    carried = (learner.init(params) | learner.memory(params).changed)["influence"]
    shapes = network.recurrent_shapes()
    assert {n: tuple(e.shape) for n, e in carried.items()} == {
        n: (3, 2, 1, *shape) for n, shape in shapes.items()
    }
