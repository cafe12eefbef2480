"""The study of a condition, from the plain data that a workflow rule gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from orla import catalogue
from orla.architectures.base import Architecture, Parameters
from orla.engine import memory
from orla.study.batches import PRECISIONS, initial_parameters, started
from orla.study.keys import KEYS
from orla.study.study import Study
from orla.tasks.episode import Episode


def architecture_of(network: Mapping[str, Any], episode: Episode) -> Architecture:
    """The architecture of a specification, with an episode's inputs and outputs."""
    return catalogue.make("architecture", network, n_in=episode.n_in, n_out=episode.n_out)


def study_of(
    job: Mapping[str, Any],
    episode: Episode,
    networks: Parameters | None,
    *,
    most: int,
    memory_mb: float | None = None,
    device: torch.device | str = "cpu",
) -> Study:
    """The study of a job.

    Args:
        job: From `plan.Plan.job`.
        episode: The data of the models.
        networks: Pretrained networks, at least one a seed; None for a start without pretraining.
        most: Most models that are computed together.
        memory_mb: Memory limit of the job in MB; None for no limit.
        device: Where to compute.

    Raises:
        OrlaError: A part is unknown or refuses its options, or one model does not fit.
    """
    architecture = architecture_of(job["network"], episode)
    dtype = PRECISIONS[job["keys"]["precision"]]
    start = catalogue.make("start", job["start"])
    seeds = range(job["seeds"])
    if networks is None:
        networks = initial_parameters(architecture, seeds, dtype)
    learner = catalogue.make("learner", job["learner"], architecture=architecture)
    optimizer = catalogue.make("optimizer", job["optimizer"])
    observers = {
        name: catalogue.make("learner", spec, architecture=architecture)
        for name, spec in job["observers"].items()
    }
    interventions = [catalogue.make("intervention", spec) for spec in job["interventions"]]
    probes = [catalogue.make("probe", spec) for spec in job["probes"]]
    batch = memory.batch_models(
        architecture,
        learner,
        optimizer,
        observers=observers,
        interventions=interventions,
        probes=probes,
        most=most,
        memory_mb=memory_mb,
        device=torch.device(device).type,
        precision=job["keys"]["precision"],
        steps=len(episode.whole),
        snapshots=memory.snapshots(job["stable_windows"], job["horizons"]),
        own_streams=job["seeds"] if episode.adapt.own else 0,
    )
    return Study(
        keys={name: job["keys"][name] for name in KEYS},
        architecture=architecture,
        networks=started(start, architecture, networks, seeds),
        episode=episode,
        learner=learner,
        optimizer=optimizer,
        observers=observers,
        interventions=interventions,
        probes=probes,
        batch_models=batch,
        device=device,
    )
