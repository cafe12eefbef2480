"""Pretrain one network a seed, and adapt every seed of a part's conditions at every rate."""

from orla.programs import machine

params, compute, output = snakemake.params, snakemake.params.compute, snakemake.output
machine.restrict_instructions(compute.get("instructions"))

from orla.jobs import job
from orla.study import adaptation

with job(snakemake.log[0], output[0], plugins=params.plugins):
    device = machine.configure(compute, snakemake.threads)
    streams, files, networks = map(snakemake.input.get, ("streams", "files", "networks"))
    episodes = adaptation.Episodes(params.task, params.episodes, streams, files or ())
    if networks:
        adaptation.check_networks(networks, params.pretraining, episodes)
    elif params.pretraining:
        # In a job of adaptation, networks that no other job starts from.
        networks = params.networks
        adaptation.pretrain_networks(params.pretraining, episodes, networks, compute, device)
    if snakemake.rule == "adapt":
        adaptation.adapt(
            dict(zip(params.paths, params.jobs, strict=True)),
            episodes,
            networks,
            output.table,
            output.traces,
            compute=compute,
            plugins=params.plugins,
            device=device,
        )
