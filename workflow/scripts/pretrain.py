"""Pretrain one network a seed on the first part of an episode."""

from orla import catalogue
from orla.errors import logged
from orla.programs import compiling
from orla.provenance import cost
from orla.study import adaptation

with logged(snakemake.log[0]), cost.measured(snakemake.output.networks):
    params, compute = snakemake.params, snakemake.params.compute
    catalogue.use_plugins(params.plugins)
    device = compiling.configure(
        compile=compute["compile"], threads=snakemake.threads, device=compute["device"]
    )
    episodes = adaptation.Episodes(params.task, snakemake.input.get("streams"), params.episodes)
    adaptation.write_networks(
        params.pretraining, episodes, snakemake.output.networks, compute, device
    )
