"""Batches of models: initial networks, their streams, and batches of one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from orla.architectures.base import Architecture, Parameters
from orla.engine.state import generator
from orla.engine.update import StreamTensors
from orla.programs.scan import stack_trees
from orla.starts.base import Start
from orla.tasks.stream import Stream


def initial_parameters(
    architecture: Architecture, seeds: Sequence[int], dtype: torch.dtype
) -> Parameters:
    """Untrained networks, one a seed, stacked on the first axis."""
    return stack_trees([architecture.init(generator(seed, 0), dtype) for seed in seeds])


def apply_start(
    start: Start, architecture: Architecture, networks: Parameters, seeds: Sequence[int]
) -> Parameters:
    """The networks, one a seed, changed by the start."""
    return stack_trees(
        [
            start.apply(architecture, {n: p[i] for n, p in networks.items()}, generator(seed, 2))
            for i, seed in enumerate(seeds)
        ]
    )


def stream_tensors(
    stream: Stream, index: np.ndarray, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> StreamTensors:
    """A stream as tensors for the loop, for the models of seeds `index`; values in `dtype`."""
    arrays = {"x": stream.X, "y": stream.Y, "scored": stream.scored, "starts": stream.starts}
    tensors = {}
    for name, array in arrays.items():
        if array is None:
            continue
        values = np.swapaxes(array[index], 0, 1) if stream.per_seed else array
        kind = dtype if array.dtype.kind == "f" else None
        tensors[name] = torch.as_tensor(np.ascontiguousarray(values), dtype=kind, device=device)
    return tensors


def models_at(params: Parameters, index: torch.Tensor) -> Parameters:
    """The models at `index`, copied."""
    return {name: p[index] for name, p in params.items()}


def batch_indices(models: int, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Batches of one size, as (indices (size,), number of models that are not copies).

    The last batch is filled up with copies of its last model, so that one compiled program serves
    all batches and no model's rounding depends on the number of models.
    """
    for start in range(0, models, size):
        index = np.arange(start, start + size)
        yield np.minimum(index, models - 1), min(size, models - start)


def measure_in_batches(
    models: int, size: int, measure: Callable[[np.ndarray], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """{name: (models, ...)}, of `measure` in batches: indices (size,) -> {name: (size, ...)}."""
    parts = [
        {name: values[:count] for name, values in measure(index).items()}
        for index, count in batch_indices(models, size)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
