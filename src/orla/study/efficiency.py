"""What a step of a network costs, by the definitions of NeuroBench.

Source: Yik et al. 2025, Nature Communications 16:1545, and its harness, which is not imported: it
counts layers of torch.nn, and brings four times as many packages as this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter

from orla.architectures.base import Architecture, Parameters
from orla.programs.torch_private import graph_of
from orla.tasks.stream import Stream

MEASURES = {
    "footprint_bytes": "Bytes of the network's parameters.",
    "connection_sparsity": "Share of its weights that are zero, the readout's bias aside.",
    "activation_sparsity": "Share of its units' outputs that are zero, over steps of the held-out "
    "part.",
    "effective_macs": "Multiplications of a step whose two factors are not zero, mean over those "
    "steps: of each weight with its input, and of gates.",
    "dense_macs": "All multiplications of such a step.",
}
# Steps that are counted, after some that fill the state.
_BEFORE, _STEPS = 5, 20
_ATEN = torch.ops.aten
_PRODUCTS = {_ATEN.mul.Tensor, _ATEN.mm.default, _ATEN.bmm.default, _ATEN.mv.default}


class _Counter(Interpreter):
    """Runs a step and counts multiplications of tensors; those by a plain number are none."""

    def __init__(self, step: GraphModule) -> None:
        super().__init__(step)
        self.effective = self.dense = 0

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if target in _PRODUCTS and all(torch.is_tensor(a) and a.dim() for a in args[:2]):
            factors = [(factor != 0).to(torch.float64) for factor in args[:2]]
            self.effective += int(target(*factors).sum())
            self.dense += int(target(*map(torch.ones_like, factors)).sum())
        return super().call_function(target, args, kwargs)


def measure_costs(
    network: Architecture, networks: Parameters, heldout: Stream
) -> dict[str, np.ndarray]:
    """`MEASURES` (seeds,) of frozen networks (seeds, ...) that run on a stream from the start."""

    def step(*leaves: Tensor) -> list[Tensor]:
        params = dict(zip(networks, leaves, strict=False))
        after = network.step(params, *leaves[-2:])
        return [after, network.readout(params, after)]

    rows, graph = [], None
    X = torch.as_tensor(heldout.X, dtype=networks["W_out"].dtype)
    with torch.no_grad():
        for seed in range(len(networks["W_out"])):
            params = {name: p[seed].cpu() for name, p in networks.items()}
            stream, state = X[seed] if heldout.per_seed else X, network.initial_state(params)
            if graph is None:
                graph = graph_of(step, [*params.values(), state, stream[0]])
                graph.graph.eliminate_dead_code()  # what only derivatives need
            X_seed = stream[: _BEFORE + _STEPS]
            rows.append(_measure_network_costs(graph, network.hidden, params, state, X_seed))
    return {name: np.array([row[name] for row in rows], float) for name in MEASURES}


def _measure_network_costs(
    graph: GraphModule, hidden: int, params: Parameters, state: Tensor, X: Tensor
) -> dict[str, float]:
    counter, silent, first = _Counter(graph), 0, min(_BEFORE, len(X) - 1)
    for x in X[:first]:
        state, _ = graph(*params.values(), state, x)
    for x in X[first:]:
        state, _ = counter.run(*params.values(), state, x)
        silent += int((state[:hidden] == 0).sum())
    steps, weights = len(X) - first, [p for name, p in params.items() if name != "b_out"]
    zeros = sum(int((p == 0).sum()) for p in weights)
    return {
        "footprint_bytes": sum(p.numel() * p.element_size() for p in params.values()),
        "connection_sparsity": zeros / sum(p.numel() for p in weights),
        "activation_sparsity": silent / (steps * hidden),
        "effective_macs": counter.effective / steps,
        "dense_macs": counter.dense / steps,
    }
