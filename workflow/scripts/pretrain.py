"""Pretrain one network a seed on session A."""

from orla import architectures
from orla.errors import logged
from orla.programs import compiling
from orla.provenance import collect as provenance
from orla.provenance import networks
from orla.provenance.tables import write_table
from orla.sessions.parts import parts
from orla.sessions.streams import Streams
from orla.study import pretraining
from orla.study.batches import PRECISIONS

with logged(snakemake.log[0]):
    compute, wildcards = snakemake.params.compute, snakemake.wildcards
    device = compiling.configure(
        compile=compute["compile"], threads=snakemake.threads, device=compute["device"]
    )
    streams = Streams.load(snakemake.input.streams)
    cuts = parts(len(streams.a), len(streams.b), **snakemake.params.parts)
    architecture = architectures.architecture(
        wildcards.architecture,
        n_in=streams.a.X.shape[1],
        n_out=streams.a.Y.shape[1],
        **snakemake.params.sizes,
    )
    seeds = range(snakemake.params.seeds)
    trained, curves = pretraining.pretrain(
        architecture,
        streams.a.part(cuts.a_pretraining),
        seeds,
        pretraining.Pretraining(**snakemake.params.pretraining),
        PRECISIONS[wildcards.precision],
        device,
    )
    source = provenance.collect(
        dataset=streams.dataset,
        seeds=list(seeds),
        precision=wildcards.precision,
        config={key: snakemake.params[key] for key in ("sizes", "pretraining", "parts", "compute")},
    )
    networks.save(trained, snakemake.output.networks, source)
    write_table(curves, snakemake.output.curves, source)
