"""Adapt every seed of a part's conditions at every learning rate."""

from orla import catalogue
from orla.errors import logged
from orla.programs import compiling
from orla.provenance import cost
from orla.study import adaptation

with logged(snakemake.log[0]), cost.measured(snakemake.output.table):
    params, compute = snakemake.params, snakemake.params.compute
    catalogue.use_plugins(params.plugins)
    device = compiling.configure(
        compile=compute["compile"], threads=snakemake.threads, device=compute["device"]
    )
    episodes = adaptation.Episodes(params.task, snakemake.input.get("streams"), params.episodes)
    file = snakemake.input.get("networks")
    if file is None and params.pretraining:
        # Networks that no other job starts from.
        file = params.networks
        adaptation.write_networks(params.pretraining, episodes, file, compute, device)
    adaptation.adapt(
        dict(zip(params.paths, params.jobs, strict=True)),
        episodes,
        file,
        snakemake.output.table,
        snakemake.output.traces,
        compute=compute,
        plugins=params.plugins,
        memory_mb=snakemake.resources.get("mem_mb"),
        device=device,
    )
