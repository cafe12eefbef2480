"""Run River's models on one stream, a seed of it."""

from orla import catalogue
from orla.jobs import job
from orla.provenance import collect
from orla.provenance.tables import write_table

params, output = snakemake.params, snakemake.output.table
with job(snakemake.log[0], output, plugins=params.plugins):
    from orla.streams import peers

    seed, task = int(snakemake.wildcards.seed), catalogue.make("task", params.task)
    about = {"config": {name: params[name] for name in ("task", "probe")}, "seeds": [seed]}
    source = collect.collect("orla.streams.peers", packages=["river"], **about)
    accuracies = peers.peer_accuracies(task, seed, params.probe)
    write_table(accuracies.assign(task=params.task_name), output, source, snakemake.input)
