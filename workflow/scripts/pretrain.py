"""Pretrain one network a seed on the first part of an episode."""

from orla import catalogue
from orla.engine.state import PRECISIONS
from orla.errors import OrlaError, logged
from orla.programs import compiling
from orla.provenance import collect, cost, networks
from orla.provenance.tables import write_table
from orla.study import pretraining
from orla.study.job import architecture_of
from orla.tasks.episode import Episode

with logged(snakemake.log[0]), cost.measured(snakemake.output.networks):
    catalogue.use_plugins(snakemake.params.plugins)
    compute, job = snakemake.params.compute, snakemake.params.job
    device = compiling.configure(
        compile=compute["compile"], threads=snakemake.threads, device=compute["device"]
    )
    episode = Episode.load(snakemake.input.episode)
    if episode.pretraining is None:
        raise OrlaError(
            f"{snakemake.input.episode}: this episode has nothing to pretrain on; give its"
            " conditions the start fresh"
        )
    seeds = range(job["seeds"])
    trained, curves = pretraining.pretrain(
        architecture_of(job["network"], episode),
        episode.pretraining,
        seeds,
        pretraining.Pretraining(**snakemake.params.pretraining),
        catalogue.make("loss", episode.loss),
        PRECISIONS[job["precision"]],
        device,
        batch_models=job["batch"],
    )
    source = collect.collect(
        "orla.study.pretraining",
        dataset=episode.dataset,
        seeds=list(seeds),
        keys={"architecture": job["name"], "precision": job["precision"]},
        config={"network": job["network"]}
        | {key: snakemake.params[key] for key in ("pretraining", "compute")},
    )
    inputs = [snakemake.input.episode]
    networks.save(trained, snakemake.output.networks, source, inputs)
    write_table(curves, snakemake.output.curves, source, inputs)
