"""Batches of models: fresh networks, the streams they see, and cutting them to a size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from orla.architectures.base import Architecture, Parameters
from orla.engine.loop import Moments
from orla.engine.state import PRECISIONS as PRECISIONS
from orla.starts.base import Start
from orla.tasks.stream import Stream


def initial_parameters(
    architecture: Architecture, seeds: Sequence[int], dtype: torch.dtype
) -> Parameters:
    """Fresh networks, one a seed, stacked on the first axis."""
    networks = [architecture.init(_generator(seed, 0), dtype) for seed in seeds]
    return {name: torch.stack([network[name] for network in networks]) for name in networks[0]}


def started(
    start: Start, architecture: Architecture, networks: Parameters, seeds: Sequence[int]
) -> Parameters:
    """The networks, one a seed, as the start lets them begin."""
    changed = [
        start.apply(architecture, {n: p[i] for n, p in networks.items()}, _generator(seed, 2))
        for i, seed in enumerate(seeds)
    ]
    return {name: torch.stack([network[name] for network in changed]) for name in networks}


def _generator(seed: int, use: int) -> torch.Generator:
    # Spread the small integers that name seeds over the generator's whole space. The second number
    # keeps uses apart: 0 fresh networks, 1 learners' draws (engine.state), 2 starts.
    entropy = np.random.SeedSequence(seed, spawn_key=(use,)).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(entropy >> 1))


def moments(
    stream: Stream, index: np.ndarray, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Moments:
    """A stream as the loop takes it, for the models of seeds `index`; values in `dtype`."""
    arrays = {"x": stream.X, "y": stream.Y, "scored": stream.scored, "starts": stream.starts}
    tensors = {}
    for name, array in arrays.items():
        if array is None:
            continue
        own = np.swapaxes(array[index], 0, 1) if stream.own else array
        kind = dtype if array.dtype.kind == "f" else None
        tensors[name] = torch.as_tensor(np.ascontiguousarray(own), dtype=kind, device=device)
    return tensors


def chosen(params: Parameters, index: torch.Tensor) -> Parameters:
    """The models at `index`, copied."""
    return {name: p[index].clone() for name, p in params.items()}


def batches(models: int, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Cut `models` models into batches of one size: (indices (size,), how many of them count).

    The last batch is filled up with copies of its last model: one compiled program serves them
    all, and no model's rounding depends on how many there are.
    """
    for start in range(0, models, size):
        index = np.arange(start, start + size)
        yield np.minimum(index, models - 1), min(size, models - start)
