"""The state of a run: all that is passed from one update to the next."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orla.architectures.base import Parameters
from orla.learners.base import Carry

PRECISIONS = {"float64": torch.float64, "float32": torch.float32}


def dtype_of(precision: str, number_format: str | None = None) -> torch.dtype:
    """The type of a precision; `number_format` is that of a numeric configuration."""
    return PRECISIONS[number_format or precision]


# Steps whose random numbers are drawn at once, so that the numbers of a step do not depend on
# where a run was stopped.
NOISE_BLOCK = 200


@dataclass
class State:
    """The state of a batch of models; models on the first axis of every tensor.

    A run that goes on from a copy of its state gives the bits of one that is not stopped.

    learners: What is carried by the learner, "own", and by each observer, "of NAME".
    buffers: What each learner reads at each step and changes between blocks of steps.
    seeds, step: Of the models' random numbers; steps of the stream so far.
    """

    params: Parameters
    network: Tensor
    learners: dict[str, Carry]
    optimizer: dict[str, Tensor]
    interventions: list[dict[str, Tensor]] = field(default_factory=list)
    probes: list[dict[str, Tensor]] = field(default_factory=list)
    buffers: dict[str, dict[str, Any]] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    step: int = 0

    def updated_tensors(self) -> dict[str, Any]:
        """The tensors that an update changes, by the names of the attributes; not copied."""
        others = ("buffers", "seeds", "step")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}

    def copy(self) -> State:
        """A copy that shares no memory with this state."""
        return deepcopy(self)


def step_noise(
    seeds: tuple[int, ...], first: int, steps: int, numbers: int, like: Tensor
) -> Tensor:
    """Uniform numbers on [0, 1) (steps, models, numbers), for steps from `first` on.

    They depend on a model's seed and the step alone, and are drawn in float64 for any precision.
    """
    blocks = range(first // NOISE_BLOCK, -(-(first + steps) // NOISE_BLOCK))
    shape = {"size": (NOISE_BLOCK, numbers), "dtype": torch.float64}
    draws = [
        torch.stack([torch.rand(**shape, generator=generator(seed, 1, b)) for seed in seeds], 1)
        for b in blocks
    ]
    by_step, start = torch.cat(draws), first - blocks.start * NOISE_BLOCK
    return by_step[start : start + steps].to(like.dtype).to(like.device)


def fixed_noise(seeds: tuple[int, ...], numbers: int, like: Tensor) -> Tensor:
    """Standard normal numbers (models, numbers), by the seed alone; drawn in float64."""
    draws = [
        torch.randn(numbers, generator=generator(seed, 3), dtype=torch.float64) for seed in seeds
    ]
    return torch.stack(draws).to(like.dtype).to(like.device)


def generator(seed: int, *spawn_key: int) -> torch.Generator:
    """Random numbers of a seed; `spawn_key` separates its streams.

    0: untrained networks; (1, block): what learners draw at each step; 2: starts; 3: what learners
    draw once. SeedSequence spreads small seeds over the generator's whole space.
    """
    entropy = np.random.SeedSequence(seed, spawn_key=spawn_key).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(entropy >> 1))
