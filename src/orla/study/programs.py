"""Compiled programs of a study, made before its sweeps run, by one process or several."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from orla.architectures.base import Architecture
from orla.engine import forward
from orla.losses.base import Loss
from orla.programs import compiling
from orla.provenance import cost
from orla.study import pretraining
from orla.study.batches import moments
from orla.study.pretraining import Pretraining
from orla.study.study import Study
from orla.tasks.stream import Stream


@dataclass(frozen=True)
class Pretrained:
    """What a pretraining is given; fields as the arguments of `pretraining.pretrain`."""

    architecture: Architecture
    stream: Stream
    seeds: range
    settings: Pretraining
    loss: Loss
    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"


def compile_all(
    studies: Iterable[Study],
    pretrained: Iterable[Pretrained] = (),
    *,
    part: int = 0,
    parts: int = 1,
) -> list[Path]:
    """Compile and keep the programs that sweeps and pretrainings will load.

    Each is taken through the shortest stream that there is a program for; the numbers are thrown
    away. Several processes that are given the same studies, each with its own `part` of `parts`,
    share the programs out between them: no two compile the same one. Compilation is configured
    before (`programs.compiling.configure`), and the process runs no sweep afterwards.

    Args:
        studies: One a condition, from `study.job.study_of`; initial networks will do.
        pretrained: One a file of networks.
        part, parts: Which part of the programs, and of how many.

    Returns:
        Where the programs of this part are kept.
    """
    numbers: dict[Path, int] = {}

    def wanted(path: Path) -> bool:
        return numbers.setdefault(path, len(numbers)) % parts == part

    with cost.phase("compiling"), compiling.only(wanted):
        for study in studies:
            _adapt(study)
        for each in pretrained:
            _pretrain(each)
    return [path for path, number in numbers.items() if number % parts == part]


def _adapt(study: Study) -> None:
    """One update of a batch, and its networks frozen before and after it."""
    seed = np.zeros(study.batch_models, dtype=int)
    stream = study.episode.adapt.part(slice(study.loop.learner.stride))
    some = moments(stream, seed, study.dtype, study.device)
    state = study.loop.start(study.batch(seed), seeds=seed.tolist())
    study.loop.run(state, study.tensor(np.full(len(seed), 1e-4)), some)
    study.outputs(study.batch(seed), None, some)
    study.outputs(state.params, state.network, some)


def _pretrain(given: Pretrained) -> None:
    """One epoch of one segment, and its validation."""
    settings = replace(given.settings, max_epochs=1)
    steps = max(forward.SEGMENT, settings.window) + settings.window
    some = given.stream.part(slice(1 + math.ceil(steps / (1 - settings.validation_fraction))))
    if some.scored is not None:
        some = replace(some, scored=np.ones_like(some.scored))
    pretraining.pretrain(**vars(given) | {"stream": some, "settings": settings})
