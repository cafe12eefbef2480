"""D-RTRL against a dense recursion with all but each unit's own block of J set to zero."""

from dataclasses import dataclass

import oracles
import pytest
import torch
from harness import (
    FIXED,
    NETWORKS,
    Adapting,
    adapted,
    distance,
    held_to,
    initial,
    make_learner,
    networks,
    stream,
    watch,
)

from orla.architectures.elementwise import ElementWise
from orla.learners.d_rtrl import DRTRL
from orla.learners.eprop import EProp

EXACT = 1e-10
STEPS = 20


def masked(network, step, params_by_step, mask):
    """P <- (mask J) P + D, dense."""
    given = step, initial(network), params_by_step, *stream(STEPS)
    return oracles.dense_rtrl(*given, jacobian=lambda J: mask * J)


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
    mask = own(network)
    run = watch(DRTRL(network), networks(network), *stream(STEPS), rate=0.05)
    ours, used = held_to(lambda used: masked(network, step, used, mask), run, FIXED.get(kind, ()))
    assert distance(ours, masked(network, step, [used[0]] * STEPS, mask)) > 1e-3
    none = masked(network, step, used, 0.0 * mask)
    remembers = kind != "transformer"  # no parameter moves what its window passes on
    assert (distance(ours, none) > 1e-2) == remembers
    whole = masked(network, step, used, torch.ones_like(mask))
    assert (distance(ours, whole) < EXACT) == (isinstance(network, ElementWise) or not remembers)


@pytest.mark.parametrize("kind", ["lstm", "another"])
def test_a_unit_has_all_of_its_numbers_of_state(kind):
    """The negative control: single numbers in the place of a unit's block are something else."""
    network, step = NETWORKS[kind]
    ours, used = adapted(DRTRL(network), STEPS, rate=0.05)
    single = torch.eye(network.state_size, dtype=torch.float64)
    assert distance(ours, masked(network, step, used, single)) > 1e-2


def test_a_units_weight_on_itself_counts():
    """What tells it from e-prop: without weights of units on themselves both are the same."""
    network = NETWORKS["lstm"][0]
    params = networks(network)
    ours, local = (adapted(r(network), STEPS, params)[0] for r in (DRTRL, EProp))
    assert distance(ours, local) > 1e-2
    params["W_hh"] = params["W_hh"] * (1 - torch.eye(5, dtype=torch.float64)).repeat(4, 1)
    ours, local = (adapted(r(network), STEPS, params)[0] for r in (DRTRL, EProp))
    assert distance(ours, local) < EXACT


def test_it_is_exact_where_units_never_meet():
    network = NETWORKS["rnn"][0]
    params = networks(network)
    alone = params | {"W_hh": params["W_hh"] * torch.eye(5, dtype=torch.float64)}
    for given, same in ((alone, True), (params, False)):
        exact, _ = adapted(make_learner("rtrl", network), STEPS, given)
        ours, _ = adapted(DRTRL(network), STEPS, given)
        assert (distance(ours, exact) < EXACT) == same


def test_an_element_wise_networks_sensitivity_is_as_large_as_its_parameters():
    network = NETWORKS["turning"][0]
    learner, params = DRTRL(network), networks(network, models=3)
    carried = learner.init(params)["influence"]
    shapes = network.recurrent_shapes()
    assert {n: tuple(e.shape) for n, e in carried.items()} == {
        n: (3, 2, 1, *shape) for n, shape in shapes.items()
    }
