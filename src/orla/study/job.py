"""The study of a condition, from the plain data that a workflow rule gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.engine import memory
from orla.engine.asked_memory import sizes
from orla.engine.loop import loop_of
from orla.engine.network import network_of
from orla.engine.state import PRECISIONS
from orla.study.batches import initial_parameters, started
from orla.study.keys import KEYS
from orla.study.study import Study
from orla.tasks.episode import Episode


def architecture_of(network: Mapping[str, Any], episode: Episode) -> Architecture:
    """The architecture of a specification, with an episode's inputs and outputs."""
    return network_of(network, episode.n_in, episode.n_out)


def study_of(
    job: Mapping[str, Any],
    episode: Episode,
    networks: Parameters | None,
    *,
    most: int,
    memory_mb: float | None = None,
    device: torch.device | str = "cpu",
    baseline: Mapping[str, np.ndarray] | None = None,
) -> Study:
    """The study of a job.

    Args:
        job: From `plan.Plan.job`.
        episode: The data of the models.
        networks: Pretrained networks, at least one a seed; None for a start without pretraining.
        most: Most models that are computed together.
        memory_mb: Memory limit of the job in MB; None for no limit.
        device: Where to compute.
        baseline: `Study.baseline` of another job on the same episode whose networks begin with
            these, started alike; None to compute it.

    Raises:
        OrlaError: A part is unknown or refuses its options, or one model does not fit.
    """
    loss = catalogue.make("loss", episode.loss)
    loop = loop_of(job, episode.n_in, episode.n_out, loss, episode.window)
    architecture, seeds = loop.learner.architecture, range(job["seeds"])
    if networks is None:
        dtype = PRECISIONS[job["keys"]["precision"]]
        networks = initial_parameters(architecture, seeds, dtype)
    start = catalogue.make("start", job["start"])
    return Study(
        keys={name: job["keys"][name] for name in KEYS},
        networks=started(start, architecture, networks, seeds),
        episode=episode,
        loop=loop,
        batch_models=memory.batch_models(
            loop,
            most=most,
            memory_mb=memory_mb,
            device=torch.device(device).type,
            steps=len(episode.whole),
            own_streams=job["seeds"] if episode.adapt.own else 0,
            **sizes(job),
        ),
        device=device,
        shared=baseline,
    )
