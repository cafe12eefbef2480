"""The one state of a run: all that is carried from one update to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from orla.architectures.base import Parameters
from orla.learners.base import Carry, Memory

PRECISIONS = {"float64": torch.float64, "float32": torch.float32}

# Steps whose random numbers are drawn at once; a draw depends on the step, not on who asks when.
DRAWN_TOGETHER = 200


@dataclass
class State:
    """All that a batch of models carries; models on the first axis of every tensor.

    A run that is stopped after any update, and goes on from a copy of its state, has the same bits.

    Attributes:
        params: the networks' parameters.
        network: the networks' states (models, state_size).
        learner: what the learner carries, and its buffers.
        observers: the same of each learner that watches, by name.
        optimizer: the optimizer's state.
        interventions: the states of the chain of interventions, in its order.
        probes: the states of the probes, in their order.
        seeds: names of the models' random numbers.
        step: steps of the stream that were gone through.
    """

    params: Parameters
    network: Tensor
    learner: Carried
    observers: dict[str, Carried]
    optimizer: dict[str, Tensor]
    interventions: list[dict[str, Tensor]] = field(default_factory=list)
    probes: list[dict[str, Tensor]] = field(default_factory=list)
    seeds: tuple[int, ...] = ()
    step: int = 0

    def copy(self) -> State:
        """The same state in memory of its own."""
        values = {name: _copied(value) for name, value in vars(self).items()}
        return State(**values)


@dataclass
class Carried:
    """What one learner carries, and its buffers beside that."""

    carry: Carry
    memory: Memory


def _copied(value: Any) -> Any:
    if isinstance(value, Carried):
        memory = Memory(_copied(value.memory.changed), _copied(value.memory.read))
        return Carried(_copied(value.carry), memory)
    if isinstance(value, dict):
        return {name: _copied(one) for name, one in value.items()}
    return pytree.tree_map(lambda t: t.clone() if isinstance(t, Tensor) else t, value)


def noise(seeds: tuple[int, ...], first: int, steps: int, numbers: int, like: Tensor) -> Tensor:
    """Random numbers (steps, models, numbers), uniform on [0, 1), of steps `first` and after.

    A model's numbers at a step follow from its seed and the step alone. Drawn in float64, so that
    a seed names the same numbers in each precision.
    """
    blocks = range(first // DRAWN_TOGETHER, -(-(first + steps) // DRAWN_TOGETHER))
    drawn = [[_block(seed, block, numbers) for seed in seeds] for block in blocks]
    by_step = torch.cat([torch.stack(models, 1) for models in drawn])
    start = first - blocks.start * DRAWN_TOGETHER
    return by_step[start : start + steps].to(like.dtype).to(like.device)


def _block(seed: int, block: int, numbers: int) -> Tensor:
    entropy = np.random.SeedSequence(seed, spawn_key=(1, block)).generate_state(1, np.uint64)[0]
    generator = torch.Generator().manual_seed(int(entropy >> 1))
    return torch.rand(DRAWN_TOGETHER, numbers, generator=generator, dtype=torch.float64)
