"""What a sweep is given: the networks, streams and sizes of its condition."""

from typing import Any

from orla import architectures
from orla.engine import memory
from orla.programs import compiling
from orla.provenance import collect as provenance
from orla.provenance import networks
from orla.sessions.parts import parts
from orla.sessions.streams import Streams
from orla.study.sweep import Study


def study_of(job: Any) -> tuple[Study, dict[str, Any]]:
    """Load the networks and streams of a job's condition; return them with their provenance."""
    compute, wildcards = job.params.compute, job.wildcards
    seeds = job.params.condition["seeds"]
    device = compiling.configure(
        compile=compute["compile"], threads=job.threads, device=compute["device"]
    )
    streams = Streams.load(job.input.streams)
    architecture = architectures.architecture(
        wildcards.architecture,
        n_in=streams.b.X.shape[1],
        n_out=streams.b.Y.shape[1],
        **job.params.sizes,
    )
    batch = memory.batch_models(
        architecture,
        wildcards.learner,
        wildcards.optimizer,
        most=compute["batch_models"],
        memory_mb=job.resources.get("mem_mb"),
        device=device.type,
        precision=wildcards.precision,
        steps=len(streams.b),
        snapshots=memory.snapshots(**job.params.condition),
    )
    study = Study(
        architecture=architecture,
        networks=networks.load(job.input.networks, seeds),
        streams=streams,
        parts=parts(len(streams.a), len(streams.b), **job.params.parts),
        split=wildcards.split,
        learner=wildcards.learner,
        optimizer=wildcards.optimizer,
        cut=job.params.parts["cut"],
        batch_models=batch,
        device=device,
    )
    return study, provenance.collect(
        dataset=streams.dataset,
        seeds=list(range(seeds)),
        precision=wildcards.precision,
        batch_models=batch,
        config={key: job.params[key] for key in ("sizes", "parts", "compute")},
    )
