"""Batches of models: stacking, choosing and cutting them to a size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from orla.architectures.base import Architecture, Parameters

PRECISIONS = {"float64": torch.float64, "float32": torch.float32}


def initial_parameters(
    architecture: Architecture, seeds: Sequence[int], dtype: torch.dtype
) -> Parameters:
    """Fresh networks, one a seed, stacked on the first axis."""
    networks = [architecture.init(_generator(seed), dtype) for seed in seeds]
    return {name: torch.stack([network[name] for network in networks]) for name in networks[0]}


def _generator(seed: int) -> torch.Generator:
    # Spread the small integers that name seeds over the generator's whole space.
    entropy = np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(entropy >> 1))


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
