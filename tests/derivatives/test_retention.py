"""Networks that keep outer products: what exact RTRL takes for granted, and its few numbers."""

import pytest
import torch
from harness import N_IN, N_OUT, NETWORKS, from_dense_rtrl, networks, stream

from orla.architectures.retention import Retention
from orla.architectures.retnet import RetNet
from orla.derivatives import derivatives
from orla.derivatives.automatic import AutomaticDerivatives
from orla.derivatives.retention import RetentionDerivatives

STEPS = 23


def retnet(hidden=6, **options):
    return RetNet(hidden, N_IN, N_OUT, **options)


KEEPING = [n for n, _ in NETWORKS.values() if isinstance(n, Retention)]
CASES = [retnet(heads=2), retnet(heads=3, keys=3), retnet(keys=4)]


@pytest.mark.parametrize("network", KEEPING + CASES)
def test_the_previous_state_enters_as_gamma_times_its_memories_alone(network):
    params = {name: p[0] for name, p in networks(network).items()}
    generator = torch.Generator().manual_seed(1)
    state = torch.randn(network.state_size, generator=generator, dtype=torch.float64)
    x = stream(1)[0][0]
    by_state = torch.func.jacrev(network.step, 1)(params, state, x)[network.hidden :]
    gamma = network.gamma(state).repeat_interleave(network.value_size * network.key_size)
    assert not by_state[:, : network.hidden].any()
    torch.testing.assert_close(by_state[:, network.hidden :], torch.diag(gamma))
    by_params = torch.func.jacrev(network.step)(params, state, x)
    entering = {name for name, j in by_params.items() if j[network.hidden :].any()}
    assert entering == {"W_in", "b_in", "W_k", "W_v"}


def test_memories_that_turn_are_left_to_automatic_differentiation():
    assert type(derivatives(retnet(rotation=True))) is AutomaticDerivatives
    assert type(derivatives(retnet())) is RetentionDerivatives


@pytest.mark.parametrize("block", [3, 100])
@pytest.mark.parametrize("network", [*CASES, retnet(heads=3, rotation=True)])
def test_every_number_of_heads_and_keys_gives_the_dense_recursion(network, block):
    assert from_dense_rtrl(network, block, STEPS) < 1e-10


def test_it_carries_less_than_a_dense_matrix():
    network = retnet(hidden=16)
    params = networks(network, models=1)
    ours = derivatives(network).sensitivity(params)
    dense = AutomaticDerivatives(network).sensitivity(params)
    numbers = [sum(p.numel() for p in P.values()) for P in (ours, dense)]
    assert numbers[0] == 2 * 16**2 + 16**3 * (N_IN + 1)
    assert numbers[1] > 20 * numbers[0]
