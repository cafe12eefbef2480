"""What a step costs, held to NeuroBench's formulas by hand."""

import numpy as np
import pytest
import torch
from harness import NETWORKS, make_network

from orla.study.batches import initial_parameters
from orla.study.efficiency import MEASURES, measure_costs
from orla.tasks.stream import Stream

N_IN, N_OUT, HIDDEN, STEPS = 3, 2, 4, 30
# Of a cell in NeuroBench: every weight once, and the products of gates of each unit.
GATED = {"rnn": (1, 0), "gru": (3, 3), "lstm": (4, 3)}


def measures(kind, change=lambda params: None, X=None, dtype=torch.float64):
    network = make_network(kind, HIDDEN, N_IN, N_OUT)
    params = network.init(torch.Generator().manual_seed(0), dtype)
    change(params)
    X = np.random.default_rng(0).standard_normal((STEPS, N_IN)) if X is None else X
    stream = Stream(X, np.zeros((STEPS, N_OUT)))
    networks = {name: torch.stack([p, p]) for name, p in params.items()}
    values = measure_costs(network, networks, stream)
    assert set(values) == set(MEASURES) and all(np.ptp(v) == 0 for v in values.values())
    return {name: v[0] for name, v in values.items()}, network


@pytest.mark.parametrize("kind", GATED)
def test_multiplications_are_those_of_neurobench(kind):
    gates, products = GATED[kind]
    dense = gates * HIDDEN * (N_IN + HIDDEN) + products * HIDDEN + HIDDEN * N_OUT
    found, network = measures(kind)
    assert found["dense_macs"] == found["effective_macs"] == dense
    assert found["connection_sparsity"] == found["activation_sparsity"] == 0.0
    assert found["footprint_bytes"] == 8 * network.parameter_count()
    single, _ = measures(kind, dtype=torch.float32)
    assert single["footprint_bytes"] == 4 * network.parameter_count()


def test_zeros_are_no_effective_multiplications():
    def sparse(params):
        params["W_hh"][:, 1:] = 0.0  # 12 of 16
        params["W_ih"][0] = params["b_h"][0] = params["W_hh"][0] = 0.0  # the first unit is silent

    X = np.random.default_rng(0).standard_normal((STEPS, N_IN))
    X[:, 2] = 0.0
    found, _ = measures("rnn", sparse, X)
    # W_ih: 3 rows by 2 inputs. W_hh: the first column by the silent unit. Readout: 3 units.
    assert found["effective_macs"] == 3 * 2 + 0 + 3 * N_OUT
    assert found["dense_macs"] == HIDDEN * (N_IN + HIDDEN) + HIDDEN * N_OUT
    assert found["activation_sparsity"] == 1 / 4
    zeros, weights = 12 + 1 + 3 + 1, HIDDEN * (N_IN + HIDDEN) + HIDDEN + HIDDEN * N_OUT
    assert found["connection_sparsity"] == pytest.approx(zeros / weights)


@pytest.mark.parametrize("name", NETWORKS)
def test_effective_macs_lie_between_those_of_the_readout_and_the_dense_ones(name):
    network, _ = NETWORKS[name]
    networks = initial_parameters(network, [0], torch.float64)
    X = np.random.default_rng(0).standard_normal((STEPS, network.n_in))
    found = measure_costs(network, networks, Stream(X, np.zeros((STEPS, network.n_out))))
    assert network.n_out * network.hidden <= found["effective_macs"] <= found["dense_macs"]
