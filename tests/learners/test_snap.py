"""The patterns that SnAp-n reads; test_definitions.py holds its gradients to the recursion."""

import pytest
import torch
from harness import HIDDEN, N_IN, N_OUT, NETWORKS, Adapting, fits, networks, stream
from learners.others import OTHERS, Meeting
from torch.func import jacrev

from orla import catalogue
from orla.errors import OrlaError

# Those that declare a pattern, as SnAp needs it.
SPARSE = {kind: given for kind, given in NETWORKS.items() if fits(given[0], "snap-1")}
SPARSE["ring"] = OTHERS["ring"]


def visited(architecture, step):
    """Jacobians by state and by parameters at a state and weights that nothing singles out."""
    params, (X, _) = {n: p[0] for n, p in networks(architecture).items()}, stream(5)
    state = torch.zeros(architecture.state_size, dtype=torch.float64)
    for x in X[:-1]:
        state = step(params, state, x)
    D, J = jacrev(step, argnums=(0, 1))(params, state, X[-1])
    return J, {name: D[name] for name in architecture.recurrent_shapes()}


@pytest.mark.parametrize("kind", SPARSE)
def test_the_pattern_is_where_jacobians_are_not_zero(kind):
    architecture, step = SPARSE[kind]
    J, D = visited(architecture, step)
    pattern = architecture.pattern()
    assert torch.equal(pattern.by_state, J != 0)
    assert set(pattern.by_parameter) == set(D)
    for name, d in D.items():
        assert torch.equal(pattern.by_parameter[name].expand_as(d), d != 0)


class Silent(Adapting):
    def pattern(self):
        return None


class Blocks(type(NETWORKS["lstm"][0])):
    unit_pattern = None


def test_every_network_that_declares_a_pattern_is_taken_and_no_other():
    for kind, (network, _) in (NETWORKS | SPARSE).items():
        assert (kind in SPARSE) == (network.pattern() is not None)
        assert all(fits(network, f"snap-{steps}") == (kind in SPARSE) for steps in (1, 2))


@pytest.mark.parametrize("kind", [Silent, Blocks, Meeting])
def test_a_network_that_declares_no_pattern_is_refused(kind):
    given = {"architecture": kind(HIDDEN, N_IN, N_OUT)}
    with pytest.raises(OrlaError, match=f"snap-2: {kind.__name__} does not say.*`pattern`"):
        catalogue.make("learner", "snap-2", **given)
    assert catalogue.make("learner", "uoro", **given).noise
