"""The GRU against torch.nn.GRUCell."""

import pytest
import torch
from harness import N_IN, built, one, stream, trajectory

from orla.architectures.base import LinearGates

HIDDEN = 6


def trajectories(change=lambda cell: None):
    """Our states and those of a cell of our weights, which `change` changes."""
    network = built("gru", HIDDEN)
    params = one(network, 1)
    cell = torch.nn.GRUCell(N_IN, HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih.copy_(params["W_ih"])
        cell.weight_hh.copy_(params["W_hh"])
        # Of the cell's two biases of r and z, whose sum is b_h, any share may be in either.
        shared = 0.3 * params["b_h"][: 2 * HIDDEN]
        cell.bias_ih.copy_(params["b_h"])
        cell.bias_ih[: 2 * HIDDEN] -= shared
        cell.bias_hh.copy_(torch.cat([shared, params["b_n"]]))
        change(cell)
    X, theirs = stream(40)[0], [torch.zeros(1, HIDDEN, dtype=torch.float64)]
    for x in X:
        theirs.append(cell(x[None], theirs[-1]).detach())
    return network, trajectory(network, params, X), torch.cat(theirs[1:])


def test_it_is_torchs_cell_at_every_step():
    network, ours, theirs = trajectories()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert float(ours.abs().max()) > 0.1
    assert not isinstance(network, LinearGates)


def exchange_gates(cell):
    for p in (cell.weight_ih, cell.weight_hh):
        p.copy_(torch.cat([p[HIDDEN : 2 * HIDDEN], p[:HIDDEN], p[2 * HIDDEN :]]))


def bias_outside_of_the_gate(cell):
    cell.bias_ih[2 * HIDDEN :] += cell.bias_hh[2 * HIDDEN :]
    cell.bias_hh[2 * HIDDEN :] = 0


@pytest.mark.parametrize("change", [exchange_gates, bias_outside_of_the_gate])
def test_another_cell_is_noticed(change):
    _, ours, theirs = trajectories(change)
    assert float((ours - theirs).abs().max()) > 1e-2
